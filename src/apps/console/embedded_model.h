// The model that comes with InferFlux.
#pragma once

#include <string>

#include "base/result.h"

namespace inferflux::apps {

inline constexpr char kEmbeddedModelId[] = "inferflux-tiny";

// Looks where an installation and a source tree have it, starting from this program's own file.
Result<std::string> FindEmbeddedModel();

}  // namespace inferflux::apps
