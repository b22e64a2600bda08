// What a model is asked, and what it answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace inferflux::embedded {

struct Message {
  std::string role;  // "system", "user", "assistant"
  std::string content;

  friend bool operator==(const Message&, const Message&) = default;
};

// Unset fields are the API's defaults: temperature 1, no filter, a random seed, as many tokens as the context allows.
struct Sampling {
  std::optional<int64_t> max_tokens;
  std::optional<double> temperature;  // 0 to 2; 0 always takes the likeliest token
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

struct GenerateOptions {
  Sampling sampling = {};
  std::optional<Constraint> constraint = {};
  bool ignore_eos = false;                                // the model does not end its answer by itself
  std::stop_token cancel = {};                            // the call ends with kCancelled within one step
  std::optional<std::chrono::milliseconds> timeout = {};  // the call ends with kTimeout
};

// Tokens, as the scheduler counted them.
struct Usage {
  uint64_t prompt = 0;
  uint64_t cached = 0;  // of the prompt: their KV was there already
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

enum class FinishReason : uint8_t {
  kStop,       // the model ended its answer, or a stop string did
  kLength,     // max_tokens, or the end of the context
  kToolCalls,  // the model calls tools
};

struct Reply {
  std::string text;
  std::string reasoning;  // what the model wrote before its answer, where its chat template marks that
  FinishReason finish = FinishReason::kStop;
  Usage usage;
};

}  // namespace inferflux::embedded
