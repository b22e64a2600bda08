// Checks of what is computed: whole, in pieces, in company, behind a shared prefix, after a cut, after leaving the engine.
#pragma once

#include "parity/check.h"

namespace inferflux::parity {

Finding CheckPrefill(engine::InferenceBackend& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckChunks(engine::InferenceBackend& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckDecode(engine::InferenceBackend& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckUnifiedBatch(engine::InferenceBackend& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckPrefixCopy(engine::InferenceBackend& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckFork(engine::InferenceBackend& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckTruncate(engine::InferenceBackend& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckSaveRestore(engine::InferenceBackend& engine, const Oracle& oracle, const Bounds& bounds);
Finding CheckRefusals(engine::InferenceBackend& engine, const Oracle& oracle, const Bounds& bounds);

}  // namespace inferflux::parity
