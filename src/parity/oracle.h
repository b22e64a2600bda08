// The answers of the reference engine, in float32 with float32 KV; every other engine is compared with them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "engine/engine.h"
#include "serving/models/load_text.h"

namespace inferflux::parity {

using Logits = std::vector<float>;  // [vocab]

struct Answer {
  std::vector<TokenId> prompt;
  std::vector<TokenId> tokens;  // chosen greedily; includes the end token if it came
  std::vector<float> gaps;      // [token] difference between the best logit and the second
};

struct Oracle {
  std::vector<TokenId> tokens;  // a text to be computed in many ways
  std::vector<Logits> logits;   // [position] after each of them
  std::vector<Answer> answers;
};

// Runs the prompts on `reference`.
Result<Oracle> AskOracle(engine::Engine& reference, const serving::ModelText& text);

}  // namespace inferflux::parity
