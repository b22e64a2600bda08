// Checks of what is computed: as a whole, in chunks, in a batch, after a shared prefix, after a truncation, after
// leaving the engine.
#pragma once

#include "parity/check.h"

namespace inferflux::parity {

Finding CheckPrefill(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckChunks(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckDecode(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckUnifiedBatch(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckPrefixCopy(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckFork(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckTruncate(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckSaveRestore(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckRefusals(engine::Engine& engine, const Oracle& oracle, const Bounds& bounds);

}  // namespace inferflux::parity
