// The fields of a request that say what its text must be: `response_format` as OpenAI has it, `grammar` as
// llama-server, `structured_outputs` as vLLM. All of them become one GrammarSpec.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "server/request/api_error.h"
#include "text/grammar/grammar_spec.h"

namespace inferflux::server {

struct GrammarFields {
  std::optional<text::GrammarSpec> grammar;
  std::string grammar_param;  // the field that it came from; empty: none did
};

// 400 where the field is not as it must be, or another one has said already what the text must be.
ApiStatus TakeResponseFormat(const boost::json::value& value, std::string_view param, GrammarFields& out);
ApiStatus TakeGrammar(const boost::json::value& value, std::string_view param, GrammarFields& out);
ApiStatus TakeStructuredOutputs(const boost::json::value& value, std::string_view param, GrammarFields& out);

}  // namespace inferflux::server
