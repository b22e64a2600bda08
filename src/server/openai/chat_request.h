// The body of POST /v1/chat/completions, checked and plain.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/request/generation_fields.h"

namespace inferflux::server {

struct OfferedFunction {
  std::string name;
  std::string description;
  std::string parameters;  // a JSON schema; empty: it takes none
  bool strict = false;
};

struct ToolChoice {
  enum class Kind : uint8_t { kAuto, kNone, kRequired, kFunction };
  Kind kind = Kind::kAuto;
  std::string function = {};  // of kFunction
};

struct ChatRequest : GenerationFields {
  boost::json::array messages;  // as the template takes them: contents are strings, tool calls' arguments are objects
  boost::json::array tools;     // as they came; empty: none were offered, or tool_choice is "none"
  std::vector<OfferedFunction> functions;  // of `tools`
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;
  // The field that needs calls to be held to the form in which the model writes them, which `grammar` then does; empty:
  // none does.
  std::string held_calls_param;
  std::optional<int64_t> max_completion_tokens;  // after parsing, max_tokens holds the limit
  bool logprobs = false;
  std::optional<int64_t> top_logprobs;
};

ApiResult<ChatRequest> ParseChatRequest(const boost::json::object& body);

}  // namespace inferflux::server
