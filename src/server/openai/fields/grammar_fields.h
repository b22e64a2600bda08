// The fields of a request that say what its text must be: `response_format` as OpenAI has it, `grammar` as
// llama-server, `structured_outputs` as vLLM. All of them become one GrammarSpec.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "server/openai/fields/generation_fields.h"

namespace inferflux::server {

// 400 where the field is not as it must be, or another one has said already what the text must be.
ApiStatus TakeResponseFormat(const boost::json::value& value, std::string_view param, GenerationFields& out);
ApiStatus TakeGrammar(const boost::json::value& value, std::string_view param, GenerationFields& out);
ApiStatus TakeStructuredOutputs(const boost::json::value& value, std::string_view param, GenerationFields& out);

}  // namespace inferflux::server
