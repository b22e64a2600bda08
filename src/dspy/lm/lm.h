// A language model as programs see it: text in, text out, with what it cost. src/embedded/ implements it on a loaded
// model (loaded_model.h); tests script it.
#pragma once

#include <inferflux/generation.h>

#include <boost/json/object.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dspy/error.h"

namespace inferflux::dspy {

using embedded::Constraint;
using embedded::FinishReason;
using embedded::Message;
using embedded::Sampling;
using embedded::Usage;

// A tool as a model with a notation for calls sees it.
struct ToolSpec {
  std::string name;
  std::string description;
  boost::json::object parameters;  // a JSON Schema of an object
};

struct ToolCall {
  std::string name;
  boost::json::object arguments;
};

struct LmRequest {
  std::vector<Message> messages;  // for the chat template; empty where `prompt` is the text
  std::string prompt;
  std::vector<ToolSpec> tools;
  Sampling sampling;
  std::optional<Constraint> constraint;
  // Each piece of text as it is made, whole characters; on the thread that called Generate.
  std::function<void(std::string_view)> on_text;
  std::stop_token cancel;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

struct LmResponse {
  std::string text;
  std::vector<ToolCall> tool_calls;
  Usage usage;
  FinishReason finish = FinishReason::kStop;
};

struct LmTraits {
  bool chat_template = true;  // false: takes `prompt` alone
  bool constraints = false;   // honours LmRequest::constraint
  bool tools = false;         // honours LmRequest::tools
};

// Any thread, any number at once.
class LM {
 public:
  virtual ~LM() = default;

  virtual std::string_view name() const = 0;
  virtual LmTraits traits() const = 0;
  // Blocks until the answer is complete. kCancelled soon after `cancel`, kTimeout soon after `deadline`.
  virtual Result<LmResponse> Generate(const LmRequest& request) = 0;
};

}  // namespace inferflux::dspy
