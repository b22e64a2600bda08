// A chat: its messages, and the tools that the model may call.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
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
  std::string parameters;  // a JSON schema; empty: no parameters
  bool strict = false;     // constrain the arguments of its calls to the schema
  bool custom = false;     // stands for a tool whose input is a text: see custom_input.h
  std::string lark;        // of a custom one: the grammar of the input, which the schema does not tell
};

struct ToolChoice {
  enum class Kind : uint8_t { kAuto, kNone, kRequired, kFunction };
  Kind kind = Kind::kAuto;
  std::string function = {};  // with kFunction
};

// The field that requires the output's tool calls to follow the model's call syntax.
struct HeldBy {
  GenerationError::Field field = GenerationError::Field::kToolChoice;
  size_t index = 0;  // the index of a strict tool
};

// What a request says about the reasoning before an answer.
struct ReasoningSpec {
  std::optional<bool> enabled;    // none: as the template has it
  std::string effort;             // "low", "high", ...: for templates that know it; empty: none
  std::optional<int32_t> budget;  // the most tokens of reasoning
};

struct Chat {
  // In the format of chat templates: contents are strings, the arguments of tool calls are objects.
  boost::json::array messages;
  // In the format of templates: {"type": "function", "function": {...}}. Empty: no tools are offered.
  boost::json::array tools;
  std::vector<OfferedFunction> functions;  // of `tools`, in the same order
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;  // allow more than one call
  ReasoningSpec reasoning;
  boost::json::object template_variables;  // for the template, beside those that the server sets
  std::optional<HeldBy> held_by;           // set by ResolveTools
};

}  // namespace inferflux::serving
