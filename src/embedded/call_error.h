// Errors of the floors below, as a program gets them.
#pragma once

#include <inferflux/error.h>

#include "base/result.h"
#include "dspy/from_engine.h"
#include "scheduler/generation.h"
#include "serving/generation/generation_error.h"

namespace inferflux::embedded {

using dspy::FailAt;
using dspy::Stage;

// A prompt that cannot become tokens, or a setting that the model cannot do; `field` is the program's name of it.
Error OfGeneration(const serving::GenerationError& error);

// The scheduler did not take a request whose settings were checked: its prompt does not fit, its queue is full, ...
Error OfSubmit(const inferflux::Error& error);

// How a generation ended; `late`: its deadline had passed.
Status CheckFinish(const scheduler::Finish& finish, bool late);

// For `return Refuse(error);` where the result is a program's.
inline tl::unexpected<Error> Refuse(Error error) { return tl::make_unexpected(std::move(error)); }
inline tl::unexpected<Error> Refuse(Stage stage, const inferflux::Error& error) {
  return tl::make_unexpected(dspy::FromEngine(stage, error));
}

}  // namespace inferflux::embedded
