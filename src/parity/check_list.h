// The checks, by what they examine. check.cpp lists them.
#pragma once

#include "parity/check.h"

namespace inferflux::parity {

// kv_checks.cpp: what is computed as a whole, in chunks, in a batch, after a shared prefix, after a truncation, after
// leaving the engine.
Finding CheckPrefill(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckChunks(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckDecode(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckUnifiedBatch(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckPrefixCopy(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckFork(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckTruncate(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckSaveRestore(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckRefusals(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);

// sampling_checks.cpp: the tokens chosen from the logits, and their reported log probabilities.
Finding CheckSamplers(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckLogprobs(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckGreedy(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);

// generation_checks.cpp: whole generations. The scheduler drives the engine as it does for a server.
Finding CheckCrowd(const Generations& subject);
Finding CheckStops(const Generations& subject);
Finding CheckLength(const Generations& subject);
Finding CheckCancellation(const Generations& subject);
Finding CheckGrammars(const Generations& subject);

}  // namespace inferflux::parity
