// A chat: its messages, and the tools that the model may call.
#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serving/generation/generation_error.h"

namespace inferflux::serving {

struct OfferedFunction {
  std::string name;
  std::string description;
  std::string parameters;  // a JSON schema; empty: it takes none
  bool strict = false;     // arguments of its calls are held to the schema
};

struct ToolChoice {
  enum class Kind : uint8_t { kAuto, kNone, kRequired, kFunction };
  Kind kind = Kind::kAuto;
  std::string function = {};  // of kFunction
};

// The field that needs calls to be held to the form in which the model writes them.
struct HeldBy {
  GenerationError::Field field = GenerationError::Field::kToolChoice;
  size_t index = 0;  // of a strict tool
};

struct Chat {
  // As chat templates take them: contents are strings, the arguments of tool calls are objects.
  boost::json::array messages;
  // As templates take them: {"type": "function", "function": {...}}. Empty: none are offered.
  boost::json::array tools;
  std::vector<OfferedFunction> functions;  // of `tools`, in the same order
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;  // more than one call may be made
  std::optional<HeldBy> held_by;    // ResolveTools fills it
};

}  // namespace inferflux::serving
