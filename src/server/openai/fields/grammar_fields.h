// The fields of a request that constrain its text: OpenAI's `response_format`, llama-server's `grammar` and vLLM's
// `structured_outputs`. All of them become one GrammarSpec.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "server/openai/fields/generation_fields.h"

namespace inferflux::server {

// 400 if the field is invalid, or if another field already constrains the text.
ApiStatus TakeResponseFormat(const boost::json::value& value, std::string_view param, GenerationFields& out);
ApiStatus TakeGrammar(const boost::json::value& value, std::string_view param, GenerationFields& out);
ApiStatus TakeStructuredOutputs(const boost::json::value& value, std::string_view param, GenerationFields& out);

}  // namespace inferflux::server
