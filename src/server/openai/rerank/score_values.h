// What a classifier's raw scores mean to a client.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/pooling.h"

namespace inferflux::server {

// The scores after the model's function, or unchanged if `raw`. Computed in double precision.
std::vector<double> ReportedScores(std::span<const float> scores, model::ScoreFunction function, bool raw);

// The label whose score says how well two texts fit: the only one, or of two the one named "yes". None if the labels
// are classes of another kind.
std::optional<size_t> RelevanceLabel(std::span<const std::string> labels);

}  // namespace inferflux::server
