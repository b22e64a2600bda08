// Settings of calls. Those of a load are a struct of their own (inferflux/load_options.h); the two are checked against
// each other.
#pragma once

#include <inferflux/load_options.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "dspy/lm/call_settings.h"

namespace inferflux::dspy {

struct LlamaCppConfig {
  CallSettings call;
  bool stream = false;  // answers arrive in pieces, also where nobody listens to fields
};

class LlamaCppConfigBuilder {
 public:
  LlamaCppConfigBuilder& MaxTokens(int64_t tokens) { return sampling().max_tokens = tokens, *this; }
  LlamaCppConfigBuilder& Temperature(double value) { return sampling().temperature = value, *this; }
  LlamaCppConfigBuilder& TopP(double value) { return sampling().top_p = value, *this; }
  LlamaCppConfigBuilder& TopK(int64_t value) { return sampling().top_k = value, *this; }
  LlamaCppConfigBuilder& MinP(double value) { return sampling().min_p = value, *this; }
  LlamaCppConfigBuilder& RepeatPenalty(double value) { return sampling().repeat_penalty = value, *this; }
  LlamaCppConfigBuilder& Seed(uint64_t value) { return sampling().seed = value, *this; }
  LlamaCppConfigBuilder& Stop(std::string text) { return sampling().stop.push_back(std::move(text)), *this; }
  LlamaCppConfigBuilder& Retries(int count) { return config_.call.retries = count, *this; }
  LlamaCppConfigBuilder& Timeout(std::chrono::milliseconds time) { return config_.call.timeout = time, *this; }
  LlamaCppConfigBuilder& Stream(bool on) { return config_.stream = on, *this; }
  LlamaCppConfigBuilder& SetConstrain(Constrain how) { return config_.call.constrain = how, *this; }

  // kInvalidConfig names the setting, its value and its range.
  Result<LlamaCppConfig> Build() const;

 private:
  Sampling& sampling() { return config_.call.sampling; }

  LlamaCppConfig config_;
};

// kInvalidConfig where a call wants what the load cannot give: more tokens than the context has.
Status CheckAgainst(const CallSettings& call, const embedded::LoadOptions& load);

}  // namespace inferflux::dspy
