// The model that comes with InferFlux.
#pragma once

#include <string>

#include "base/result.h"

namespace inferflux::apps {

inline constexpr char kEmbeddedModelId[] = "inferflux-tiny";

// Searches the places of an installation and of a source tree, relative to this program's file, and its own folder.
Result<std::string> FindEmbeddedModel();

}  // namespace inferflux::apps
