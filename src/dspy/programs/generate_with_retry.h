// Calls again where a call may succeed later, and where an answer does not parse: then the model is told why.
#pragma once

#include "dspy/adapters/adapter.h"

namespace inferflux::dspy {

// As often as `options.settings.retries`, or the adapter's defaults, say. Between transient errors it waits, 50 ms at
// first, then twice as long up to 2 s; cancellation ends the wait. Usage is that of all attempts that gave an answer. A
// field that has been handed out is not taken back: with `on_field`, nothing is tried again after that.
Result<Prediction> GenerateWithRetry(const Adapter& adapter, LM& lm, const Signature& signature, const Values& inputs,
                                     CallOptions options, const OnField& on_field = nullptr);

}  // namespace inferflux::dspy
