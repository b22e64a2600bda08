// Runs a program on examples, on several threads, and averages a metric.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "dspy/optimize/metric.h"
#include "dspy/programs/module.h"

namespace inferflux::dspy {

struct EvaluateOptions {
  size_t threads = 1;
  size_t max_errors = 10;    // that many failed calls end the evaluation
  double failure_score = 0;  // of an example whose call failed
  RunContext context = {};   // cancellation, model and adapter; its trace and on_field are not used
  // After each example, in order of completion and never twice at once: how many are done, of how many, and the mean so
  // far.
  std::function<void(size_t done, size_t total, double mean)> on_progress = nullptr;
};

struct ExampleResult {
  Prediction prediction;  // empty where the call failed
  double score = 0;
  std::optional<Error> error;
};

struct Evaluation {
  double score = 0;                    // per cent, rounded to two digits, as in DSPy
  std::vector<ExampleResult> results;  // in the order of the examples
  Usage usage;
};

// kInvalidConfig where there are no examples; kCancelled; or the error that was one too many.
Result<Evaluation> Evaluate(const Module& program, std::span<const Example> examples, const Metric& metric,
                            const EvaluateOptions& options = {});

}  // namespace inferflux::dspy
