// The checks that every backend must pass, as a typed list. They compare an engine's answers with the oracle: the
// reference engine on the same file. No check knows a backend by name, so a new backend needs no new check.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/engine.h"
#include "parity/oracle.h"
#include "scheduler/generation_service.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::parity {

// What counts as equal. This depends on the weight type: a matmul with 8-bit activations differs more than one with
// floats.
struct Bounds {
  double logits = 0.0;   // |a - b| / |b| over a position's logits
  double logprob = 0.0;  // |a - b| of a token among the likeliest
  double tie = 0.0;      // two best logits closer than this may be swapped
};
inline constexpr double kMostTies = 0.02;  // as a share of all greedy positions

// A value says in a few words what was seen; an error says what differs.
using Finding = Result<std::string>;

// Checks of the engine's own calls, on the calling thread. A check closes every sequence that it opens.
struct EngineCheck {
  std::string_view name;
  Finding (*run)(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
};
std::span<const EngineCheck> EngineChecks();

// Checks of generations through the scheduler.
struct Generations {
  scheduler::GenerationService& scheduler;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  const Oracle& oracle;
  const Bounds& bounds;
};
struct GenerationCheck {
  std::string_view name;
  Finding (*run)(const Generations& subject);
};
std::span<const GenerationCheck> GenerationChecks();

}  // namespace inferflux::parity
