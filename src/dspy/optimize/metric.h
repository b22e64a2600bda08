// How good a prediction is for an example: 1 or 0 for right or wrong, or a score.
#pragma once

#include <functional>
#include <string>

#include "dspy/signature/example.h"
#include "dspy/signature/prediction.h"

namespace inferflux::dspy {

// Any thread.
using Metric = std::function<double(const Example& example, const Prediction& prediction)>;

// 1 where the field has the same value in both.
Metric SameField(std::string name);

}  // namespace inferflux::dspy
