// A language model as programs see it: text in, text out, with what it cost. The serving floor implements it on a
// loaded model; tests script it.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dspy/error.h"

namespace inferflux::dspy {

struct Message {
  std::string role;  // "system", "user", "assistant"
  std::string content;

  friend bool operator==(const Message&, const Message&) = default;
};

// Unset fields are the model's defaults.
struct Sampling {
  std::optional<int64_t> max_tokens;
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int64_t> top_k;
  std::optional<double> min_p;
  std::optional<double> repeat_penalty;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;

  friend bool operator==(const Sampling&, const Sampling&) = default;
};

// What the whole answer must match.
struct Constraint {
  enum class Kind : uint8_t { kJsonSchema, kRegex, kGbnf };
  Kind kind = Kind::kGbnf;
  std::string source;

  friend bool operator==(const Constraint&, const Constraint&) = default;
};

// Tokens.
struct Usage {
  uint64_t prompt = 0;
  uint64_t cached = 0;  // of the prompt
  uint64_t completion = 0;

  uint64_t total() const { return prompt + completion; }
  Usage& operator+=(const Usage& other) {
    prompt += other.prompt;
    cached += other.cached;
    completion += other.completion;
    return *this;
  }
  friend bool operator==(const Usage&, const Usage&) = default;
};

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

enum class FinishReason : uint8_t { kStop, kLength, kToolCalls };

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
