#include "scheduler/step_loop.h"

#include <utility>

#include "base/log.h"
#include "scheduler/admission.h"
#include "scheduler/warm_up.h"

namespace inferflux::scheduler {

StepLoop::StepLoop(EngineFactory factory, std::shared_ptr<const text::Tokenizer> tokenizer, StepLoopOptions options,
                   MetricsFactory metrics)
    : factory_(std::move(factory)),
      tokenizer_(std::move(tokenizer)),
      options_(options),
      make_metrics_(std::move(metrics)) {
  std::promise<Status> ready;
  ready_ = ready.get_future().share();
  thread_ = std::thread([this, promise = std::move(ready)]() mutable { Main(std::move(promise)); });
}

StepLoop::~StepLoop() { Stop(); }

void StepLoop::Stop() {
  std::call_once(stopped_, [this] {
    {
      std::lock_guard lock(mutex_);
      state_ = State::kStopping;
    }
    wakeup_->Wake();
    thread_.join();
  });
}

Result<std::shared_ptr<TokenStream>> StepLoop::Submit(GenerationRequest request) {
  std::unique_lock lock(mutex_);
  switch (state_) {
    case State::kServing:
      break;
    case State::kLoading:
      return Fail(ErrorCode::kUnavailable, "the model is still being loaded");
    case State::kFailed:
      return Fail(ErrorCode::kUnavailable, "the model could not be loaded");
    case State::kStopping:
      return Fail(ErrorCode::kUnavailable, "the model is being unloaded");
  }
  lock.unlock();
  auto max_tokens = CheckRequest(request, info_);
  if (!max_tokens) return Forward(max_tokens);
  auto stream = std::make_shared<TokenStream>();
  stream->SetWake([wakeup = wakeup_] { wakeup->Wake(); });
  OutputText output(tokenizer_, request.stop, request.continues_text);
  auto accepted = std::make_unique<Request>(Request{.spec = std::move(request),
                                                    .stream = stream,
                                                    .output = std::move(output),
                                                    .max_tokens = *max_tokens,
                                                    .submitted = std::chrono::steady_clock::now()});
  accepted->tokens = accepted->spec.prompt;

  lock.lock();
  if (state_ != State::kServing) return Fail(ErrorCode::kUnavailable, "the model is being unloaded");
  if (stats_.queued >= options_.max_queued) {
    return Fail(ErrorCode::kResourceExhausted, "{} requests wait already; try again in about {} s", stats_.queued,
                stats_.retry_after_seconds);
  }
  ++stats_.queued;
  accepted->number = next_number_++;
  submitted_.push_back(std::move(accepted));
  lock.unlock();
  wakeup_->Wake();
  return stream;
}

SchedulerStats StepLoop::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void StepLoop::Main(std::promise<Status> ready) {
  auto engine = Load();
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::kLoading) state_ = engine ? State::kServing : State::kFailed;
  }
  if (!engine) return ready.set_value(Forward(engine));
  ready.set_value({});
  Serve(**engine);
}

Result<std::unique_ptr<engine::InferenceBackend>> StepLoop::Load() {
  auto engine = factory_();
  factory_ = {};
  if (!engine) return engine;
  if (auto warm = WarmUp(**engine, options_.warm_up_tokens); !warm) return Forward(warm, "warming up");
  info_ = (*engine)->info();
  return engine;
}

void StepLoop::Serve(engine::InferenceBackend& engine) {
  StepCore core(engine, tokenizer_, options_.policy, make_metrics_ ? make_metrics_(info_) : metrics::ModelMetrics(),
                std::chrono::steady_clock::now);
  while (TakeSubmitted(core)) {
    if (!core.Step()) wakeup_->Wait(core.next_deadline());
  }
  core.EndAll(FinishReason::kCancelled, {.code = ErrorCode::kUnavailable, .message = "the model is being unloaded"});
  std::lock_guard lock(mutex_);
  stats_ = core.stats();
}

// Hands new requests to the core and publishes its numbers; false where the loop is to end.
bool StepLoop::TakeSubmitted(StepCore& core) {
  std::lock_guard lock(mutex_);
  for (auto& request : submitted_) core.Submit(std::move(request));
  submitted_.clear();
  stats_ = core.stats();
  return state_ != State::kStopping;
}

}  // namespace inferflux::scheduler
