// Where a remote model is, and what its server understands.
#pragma once

#include <string>

#include "dspy/lm/call_settings.h"

namespace inferflux::dspy {

struct HttpConfig {
  std::string url = "http://127.0.0.1:8080/v1";  // as OpenAI's clients take it; http only
  std::string api_key;                           // empty: none is sent
  std::string model;                             // empty: the server's default
  // The server honours response_format with a JSON schema, and `structured_outputs` with a regular expression or a
  // grammar (InferFlux, vLLM). OpenAI's own API knows the first only.
  bool constraints = true;
  bool chat_template = true;  // false: prompts go to /completions
  CallSettings call;
};

}  // namespace inferflux::dspy
