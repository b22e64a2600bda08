// Times structured output without a model: compiling schemas, and computing the mask of each token.
#pragma once

#include <string>

#include "base/result.h"

namespace inferflux::apps {

// `vocabulary`: a GGUF file with one. `documents`: lines of JSON, {"schema": ..., "tests": [{"valid": true, "data":
// ...}]}, as in MaskBench. Each valid document is walked, token by token. Returns a table.
Result<std::string> BenchMasks(const std::string& vocabulary, const std::string& documents);

}  // namespace inferflux::apps
