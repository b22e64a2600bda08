// Times structured output without a model: how long schemas take to be compiled, and each token's mask to be computed.
#pragma once

#include <string>

#include "base/result.h"

namespace inferflux::apps {

// `vocabulary`: a GGUF file with one. `documents`: lines of JSON, {"schema": ..., "tests": [{"valid": true, "data":
// ...}]}, as MaskBench has them: each valid document is walked, token by token. Returns a table.
Result<std::string> BenchMasks(const std::string& vocabulary, const std::string& documents);

}  // namespace inferflux::apps
