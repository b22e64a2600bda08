// Runs a teacher on training examples and makes demonstrations of the steps of those runs that a metric accepts
// (dspy/teleprompt/bootstrap.py; Khattab et al., 2023, "DSPy: Compiling Declarative Language Model Calls").
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "dspy/optimize/metric.h"
#include "dspy/programs/module.h"

namespace inferflux::dspy {

struct BootstrapFewShot {
  Metric metric = nullptr;               // without one, each run that succeeds is accepted
  std::optional<double> threshold = {};  // accepted from here on; without it, any score but 0
  size_t max_bootstrapped = 4;           // examples that are run with success
  size_t max_labeled = 16;  // demonstrations of a predictor, bootstrapped ones included, filled up with labelled ones
  int max_rounds = 1;       // attempts of an example; those after the first at temperature 1 and with another seed
  size_t max_errors = 10;   // that many failed runs end it
  RunContext teacher_context = {};  // model, adapter and cancellation of the teacher's runs

  // A compiled copy of the student. The teacher is the student itself where there is none; one that is not compiled
  // gets labelled examples first. kInvalidConfig where the student is compiled, or the teacher is another program.
  Result<std::unique_ptr<Module>> Compile(const Module& student, std::span<const Example> trainset,
                                          const Module* teacher = nullptr) const;
};

}  // namespace inferflux::dspy
