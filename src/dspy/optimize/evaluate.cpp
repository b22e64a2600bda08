#include "dspy/optimize/evaluate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

namespace inferflux::dspy {
namespace {

constexpr size_t kMaxThreads = 1024;

class EvaluationRun {
 public:
  EvaluationRun(const Module& program, std::span<const Example> examples, const Metric& metric,
                const EvaluateOptions& options)
      : program_(program), examples_(examples), metric_(metric), options_(options), settings_(CurrentSettings()) {
    context_ = options.context;
    context_.trace = nullptr;
    context_.on_field = nullptr;
    results_.resize(examples.size());
  }

  void Work() {
    const ScopedSettings scope(settings_);
    while (!stopped_ && !context_.cancel.stop_requested()) {
      const size_t index = next_++;
      if (index >= examples_.size()) return;
      Finish(index, program_.Call(examples_[index].inputs(), context_));
    }
  }

  Result<Evaluation> Take() {
    if (context_.cancel.stop_requested()) {
      return Fail(ErrorCode::kCancelled, "the evaluation was cancelled after {} of {} examples", done_,
                  results_.size());
    }
    if (last_error_) return tl::make_unexpected(std::move(*last_error_));
    Evaluation evaluation{.results = std::move(results_)};
    for (const ExampleResult& result : evaluation.results) evaluation.usage += result.prediction.usage();
    evaluation.score = std::round(10000 * sum_ / static_cast<double>(evaluation.results.size())) / 100;
    return evaluation;
  }

 private:
  void Finish(size_t index, Result<Prediction> prediction) {
    ExampleResult result{.score = options_.failure_score};
    if (prediction) {
      result.prediction = std::move(*prediction);
      result.score = metric_(examples_[index], result.prediction);
    } else {
      result.error = std::move(prediction.error());
    }
    const std::lock_guard lock(mutex_);
    if (result.error && ++errors_ >= options_.max_errors) {
      last_error_ = result.error;
      stopped_ = true;
    }
    sum_ += result.score;
    ++done_;
    results_[index] = std::move(result);
    if (options_.on_progress) options_.on_progress(done_, results_.size(), sum_ / static_cast<double>(done_));
  }

  const Module& program_;
  std::span<const Example> examples_;
  const Metric& metric_;
  const EvaluateOptions& options_;
  Settings settings_;
  RunContext context_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;  // what follows
  std::vector<ExampleResult> results_;
  std::optional<Error> last_error_;
  size_t done_ = 0;
  size_t errors_ = 0;
  double sum_ = 0;
};

}  // namespace

Metric SameField(std::string name) {
  return [name = std::move(name)](const Example& example, const Prediction& prediction) {
    const auto* label = example.values().if_contains(name);
    const auto* value = prediction.values().if_contains(name);
    return label && value && *label == *value ? 1.0 : 0.0;
  };
}

Result<Evaluation> Evaluate(const Module& program, std::span<const Example> examples, const Metric& metric,
                            const EvaluateOptions& options) {
  if (examples.empty()) return Fail(ErrorCode::kInvalidConfig, "there are no examples to evaluate with");
  if (options.threads < 1 || options.threads > kMaxThreads) {
    return FailAt("threads", Error::kNoPosition, "threads is {}; it must be from 1 to {}", options.threads,
                  kMaxThreads);
  }
  EvaluationRun run(program, examples, metric, options);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(options.threads, examples.size()); ++i) threads.emplace_back([&] { run.Work(); });
  run.Work();
  for (std::thread& thread : threads) thread.join();
  return run.Take();
}

}  // namespace inferflux::dspy
