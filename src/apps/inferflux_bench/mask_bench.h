// Times structured output without a model, and checks it: compiling schemas, computing the mask of each token, and
// whether the masks let exactly the valid documents through.
#pragma once

#include <string>

#include "base/result.h"

namespace inferflux::apps {

struct MaskBenchOptions {
  bool list = false;      // one line names each schema with a wrong verdict, and why
  bool cpu_time = false;  // the thread's time, in place of a clock's: for a machine that does something else too
};

// `vocabulary`: a GGUF file with one. `documents`: lines of JSON, {"schema": ..., "tests": [{"valid": true, "data":
// ...}]}, as in MaskBench; they may be compressed by gzip. Each document is walked token by token, until a mask forbids
// its next token.
//
// Returns a table of times, and as the last line a JSON object: `schemas`; `correct`: compiled, and every verdict is
// right; `false_accept` and `false_reject`: schemas with such a verdict; `unsupported`: refused by the compiler;
// `crashed`: a mask failed; the time to the first mask (compiling included) and of the masks, in microseconds.
Result<std::string> BenchMasks(const std::string& vocabulary, const std::string& documents,
                               const MaskBenchOptions& options);

}  // namespace inferflux::apps
