// Puts labelled examples into prompts as they are (dspy/teleprompt/vanilla.py).
#pragma once

#include <memory>
#include <span>

#include "dspy/programs/module.h"

namespace inferflux::dspy {

struct LabeledFewShot {
  size_t k = 16;       // at most, for each predictor
  bool sample = true;  // as Python's random.Random(0) samples; else the first ones

  // A copy of the program with demonstrations. Nothing of earlier ones is kept.
  std::unique_ptr<Module> Compile(const Module& student, std::span<const Example> trainset) const;
};

}  // namespace inferflux::dspy
