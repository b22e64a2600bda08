#include "scheduler/step_core.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace inferflux::scheduler {
namespace {

double Seconds(TimePoint::duration duration) { return std::chrono::duration<double>(duration).count(); }

bool Late(const Request& request, TimePoint now) { return request.spec.deadline && now >= *request.spec.deadline; }

Error DeadlineError(const Request& request) {
  return {.code = ErrorCode::kResourceExhausted,
          .message = fmt::format("the request's deadline passed after {} of its tokens", request.generated)};
}

}  // namespace

StepCore::StepCore(engine::InferenceBackend& engine, std::shared_ptr<const text::Tokenizer> tokenizer,
                   const StepPolicy& policy, metrics::ModelMetrics metrics, Clock clock)
    : engine_(engine),
      tokenizer_(std::move(tokenizer)),
      metrics_(metrics),
      clock_(std::move(clock)),
      load_(policy),
      builder_(engine, policy, tokenizer_->end_of_generation()) {}

void StepCore::Submit(RequestPtr request) {
  load_.shares.Enter(request->spec.account);
  load_.waiting.Push(std::move(request));
}

bool StepCore::Step() {
  const TimePoint now = clock_();
  Sweep(now);
  StepBatch step = builder_.Build(load_, now);
  preemptions_ += step.preempted;
  for (auto& [request, error] : step.failed) End(*request, FinishReason::kError, std::move(error));
  const bool busy = !step.requests.empty() || !step.failed.empty();
  if (!step.requests.empty()) Execute(step);
  Publish();
  return busy;
}

void StepCore::Sweep(TimePoint now) {
  std::vector<Request*> gone;
  const auto look = [&](const RequestPtr& request) {
    if (request->stream->cancelled() || Late(*request, now)) gone.push_back(request.get());
  };
  std::ranges::for_each(load_.running, look);
  std::ranges::for_each(load_.waiting.all(), look);
  for (Request* request : gone) {
    if (request->stream->cancelled()) {
      End(*request, FinishReason::kCancelled);
    } else {
      End(*request, FinishReason::kError, DeadlineError(*request));
    }
  }
}

void StepCore::Execute(StepBatch& step) {
  const auto& items = step.batch.items;
  auto result = engine_.ExecuteUnifiedBatch(step.batch);
  if (result) {
    for (size_t i = 0; i < items.size(); ++i) Apply(*step.requests[i], items[i], result->items[i]);
    return;
  }
  log::Error("scheduler: a step of {} sequences failed: {}", items.size(), result.error().message);
  if (items.size() == 1) return End(*step.requests[0], FinishReason::kError, std::move(result.error()));
  // No sequence has grown: each runs by itself, so that only those at fault end.
  for (size_t i = 0; i < items.size(); ++i) ExecuteAlone(items[i], *step.requests[i]);
}

void StepCore::ExecuteAlone(const engine::BatchItem& item, Request& request) {
  auto result = engine_.ExecuteUnifiedBatch({.items = {item}});
  if (!result) return End(request, FinishReason::kError, std::move(result.error()));
  Apply(request, item, result->items[0]);
}

void StepCore::Apply(Request& request, const engine::BatchItem& item,
                     const std::vector<engine::OutputResult>& outputs) {
  const int32_t prompt_left = std::max(0, request.prompt_tokens() - request.length);
  const auto fed = static_cast<int32_t>(item.tokens.size());
  metrics_.prompt_tokens.Add(std::min(prompt_left, fed));
  load_.shares.Charge(request.spec.account, fed);
  request.length += fed;
  if (!outputs.empty()) TakeToken(request, outputs[0]);
}

void StepCore::TakeToken(Request& request, const engine::OutputResult& sampled) {
  if (sampled.token == engine::kNoToken) {
    return End(request, FinishReason::kError,
               {.code = ErrorCode::kInternal, .message = "the model's logits leave no token to choose"});
  }
  const TimePoint now = clock_();
  if (request.last_token) {
    metrics_.inter_token.Observe(Seconds(now - *request.last_token));
  } else {
    metrics_.time_to_first.Observe(Seconds(now - request.submitted));
  }
  metrics_.generated_tokens.Add();
  request.last_token = now;
  ++request.generated;
  if (!request.spec.ignore_eos && tokenizer_->IsEndOfGeneration(sampled.token))
    return End(request, FinishReason::kStop);
  request.tokens.push_back(sampled.token);
  request.output.Push(sampled);
  if (request.output.stopped()) return End(request, FinishReason::kStop);
  if (request.generated >= request.max_tokens) return End(request, FinishReason::kLength);
  Emit(request);
}

void StepCore::Emit(Request& request) {
  // Tokens without text wait for the next text, unless somebody wants to see them one by one.
  if (!request.output.has_text() && !(request.spec.top_logprobs && request.output.has_tokens())) return;
  request.stream->Push(request.output.Take());
}

void StepCore::End(Request& request, FinishReason reason, Error error) {
  if (request.sequence) {
    if (auto closed = engine_.Close(*request.sequence); !closed) log::Error("scheduler: {}", closed.error().message);
  }
  load_.shares.Leave(request.spec.account);
  request.output.Finish();
  StreamEvent last = request.output.Take();
  last.finish = Finish{.reason = reason, .error = std::move(error), .usage = request.usage()};
  request.stream->Push(std::move(last));
  const auto running = std::ranges::find(load_.running, &request, &RequestPtr::get);
  if (running != load_.running.end()) {
    load_.running.erase(running);
  } else {
    load_.waiting.Take(&request);
  }
}

void StepCore::EndAll(FinishReason reason, const Error& error) {
  while (!load_.running.empty()) End(*load_.running.back(), reason, error);
  while (load_.waiting.size() > 0) End(*load_.waiting.all().back(), reason, error);
  Publish();
}

std::optional<TimePoint> StepCore::next_deadline() const {
  std::optional<TimePoint> next;
  const auto look = [&](const RequestPtr& request) {
    if (request->spec.deadline) next = std::min(next.value_or(TimePoint::max()), *request->spec.deadline);
  };
  std::ranges::for_each(load_.running, look);
  std::ranges::for_each(load_.waiting.all(), look);
  return next;
}

SchedulerStats StepCore::stats() const {
  const auto usage = engine_.usage();
  return {.queued = static_cast<int32_t>(load_.waiting.size()),
          .running = static_cast<int32_t>(load_.running.size()),
          .kv_blocks_used = usage.blocks_used,
          .kv_blocks_free = usage.blocks_free + usage.blocks_cached,
          .preemptions = preemptions_};
}

void StepCore::Publish() {
  const SchedulerStats now = stats();
  metrics_.queue_depth.Set(now.queued);
  metrics_.running_sequences.Set(now.running);
  metrics_.kv_blocks_used.Set(static_cast<double>(now.kv_blocks_used));
  metrics_.kv_blocks_free.Set(static_cast<double>(now.kv_blocks_free));
}

}  // namespace inferflux::scheduler
