// A language model behind an OpenAI-compatible server.
#pragma once

#include <memory>

#include "dspy/lm/lm.h"
#include "dspy_http/http_config.h"

namespace inferflux::dspy {

// kInvalidConfig names the URL and what is wrong with it. Does not connect: a server that is not there is kBackendError
// at the first call.
//
// Codes of a call: kModelNotFound, kContextTooLong, kInvalidConfig (a refused field or key), kTimeout, kCancelled,
// kBackendError (no connection, or a server that is full; another attempt may succeed), kInferenceFailed.
Result<std::shared_ptr<LM>> ConnectLm(const HttpConfig& config);

}  // namespace inferflux::dspy
