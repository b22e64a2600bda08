// The checks that every backend has to pass, as a typed list. What an engine answers is compared with the oracle: the
// reference engine on the same file. A backend passes by existing: nothing here knows one by name.
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

// What counts as equal. The weights' type decides: products of 8-bit activations differ more than products of floats.
struct Bounds {
  double logits = 0.0;   // |a - b| / |b| over a position's logits
  double logprob = 0.0;  // |a - b| of a token among the likeliest
  double tie = 0.0;      // two best logits that are closer than this may change places
};
inline constexpr double kMostTies = 0.02;  // of all greedy positions

// A value says in a few words what was seen; an error says what differs.
using Finding = Result<std::string>;

// Checks of the engine's own calls, on the calling thread. Every sequence that a check opens it also closes.
struct EngineCheck {
  std::string_view name;
  Finding (*run)(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
};
std::span<const EngineCheck> EngineChecks();

// Checks of generations through the step loop.
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
