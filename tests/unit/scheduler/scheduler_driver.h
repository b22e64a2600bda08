// Drives a Scheduler by hand, without a thread and with a clock that advances only on request.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "scheduler/fake_engine.h"
#include "scheduler/queue/admission.h"
#include "scheduler/scheduler.h"

namespace inferflux::scheduler {

// What a client has read from its stream.
struct Received {
  std::string text;
  std::vector<GeneratedToken> tokens;
  std::vector<StreamEvent> events;
  std::optional<Finish> finish;
  int finishes = 0;

  bool done() const { return finish.has_value(); }
};

inline void Read(TokenStream& stream, Received& received) {
  while (auto event = stream.TryPop()) {
    received.text += event->text;
    received.tokens.insert(received.tokens.end(), event->tokens.begin(), event->tokens.end());
    if (event->finish) {
      received.finish = event->finish;
      ++received.finishes;
    }
    received.events.push_back(std::move(*event));
  }
}

// Any engine.
class BackendDriver {
 public:
  BackendDriver(engine::Engine& backend, const StepPolicy& policy, std::shared_ptr<const text::Tokenizer> tokenizer,
                SchedulerExtras extras = {}, const metrics::ModelMetrics& metrics = {})
      : backend_(backend),
        tokenizer_(std::move(tokenizer)),
        core(
            backend, tokenizer_, policy, metrics, [this] { return now += tick; }, std::move(extras)) {}

  std::shared_ptr<TokenStream> Submit(GenerationRequest spec) {
    const auto max_tokens = CheckRequest(spec, backend_.info());
    EXPECT_TRUE(max_tokens) << max_tokens.error().message;
    auto stream = std::make_shared<TokenStream>();
    OutputText output(tokenizer_, spec.stop, {.starts_text = !spec.continues_text});
    auto request = std::make_unique<Request>(Request{.number = next_number_++,
                                                     .spec = std::move(spec),
                                                     .stream = stream,
                                                     .output = std::move(output),
                                                     .max_tokens = *max_tokens,
                                                     .submitted = now});
    request->tokens = request->spec.prompt;
    core.Submit(std::move(request));
    return stream;
  }

  // Steps until nothing is left to do.
  void Drain() {
    for (int step = 0; core.Step(); ++step) ASSERT_LT(step, 100000) << "the core never comes to rest";
  }

  Received Generate(GenerationRequest spec) {
    const auto stream = Submit(std::move(spec));
    Received received;
    do {
      Read(*stream, received);
    } while (core.Step());
    Read(*stream, received);
    return received;
  }

  TimePoint now{};
  std::chrono::nanoseconds tick{};  // the clock's advance at each reading

 private:
  engine::Engine& backend_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  uint64_t next_number_ = 0;

 public:
  Scheduler core;
};

struct FakeEngineHolder {
  FakeEngine engine;
};

// The fake engine.
class SchedulerDriver : public FakeEngineHolder, public BackendDriver {
 public:
  explicit SchedulerDriver(FakeEngine::Model model, const FakeEngineOptions& options = {},
                           const StepPolicy& policy = {},
                           std::shared_ptr<const text::Tokenizer> tokenizer = FakeTokenizer(),
                           SchedulerExtras extras = {}, const metrics::ModelMetrics& metrics = {})
      : FakeEngineHolder{FakeEngine(options, std::move(model))},
        BackendDriver(engine, policy, std::move(tokenizer), std::move(extras), metrics) {}

  // The text of a request that runs alone on the engine.
  static std::string Alone(FakeEngine::Model model, GenerationRequest spec) {
    SchedulerDriver driver(std::move(model), {.blocks = 1000, .context = 4000});
    return driver.Generate(std::move(spec)).text;
  }
};

}  // namespace inferflux::scheduler
