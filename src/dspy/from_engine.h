// The table from the engine's error codes to those of programs.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "dspy/error.h"

namespace inferflux::dspy {

// What an engine was doing when it failed: the same code of the base floor has another meaning in each.
enum class Stage : uint8_t { kFind, kLoad, kConfigure, kTokenize, kAdmit, kGenerate };

// kAdmit is the check of the prompt against the context.
Error FromEngine(Stage stage, const inferflux::Error& error);

}  // namespace inferflux::dspy
