#include "scheduler/scheduler.h"

#include <algorithm>
#include <cmath>
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

// The engine's results for item `index`: one for each requested output.
using Outputs = std::vector<engine::OutputResult>;
Result<const Outputs*> OutputsOf(const engine::StepResult& result, size_t index, const engine::BatchItem& item) {
  const size_t given = index < result.items.size() ? result.items[index].size() : 0;
  if (given == item.outputs.size() && index < result.items.size()) return &result.items[index];
  return Fail(ErrorCode::kInternal, "the engine returned {} results, but {} were requested", given,
              item.outputs.size());
}

}  // namespace

Scheduler::Scheduler(engine::Engine& engine, std::shared_ptr<const text::Tokenizer> tokenizer, const StepPolicy& policy,
                     metrics::ModelMetrics metrics, Clock clock, SchedulerExtras extras)
    : engine_(engine),
      tokenizer_(std::move(tokenizer)),
      metrics_(metrics),
      clock_(std::move(clock)),
      load_(policy),
      sessions_(engine, extras.session_memory, std::move(extras.session_files), clock_()),
      drafts_(extras.draft
                  ? std::make_unique<DraftModel>(std::move(extras.draft), tokenizer_->end_of_generation(), clock_)
                  : nullptr),
      builder_(engine, sessions_, drafts_.get(), policy, cost_, tokenizer_->end_of_generation()) {}

void Scheduler::Submit(RequestPtr request) {
  if (request->spec.embed) request->pooler.emplace(engine_.info().pooling, request->prompt_tokens());
  const GenerationRequest& spec = request->spec;
  if (spec.grammar || spec.reasoning) {
    request->matcher.emplace(tokenizer_, spec.grammar, spec.reasoning.get(), !spec.continues_text);
  }
  load_.shares.Enter(request->spec.account);
  load_.waiting.Push(std::move(request));
}

bool Scheduler::Step() {
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

Result<std::vector<SessionInfo>> Scheduler::Session(const SessionCommand& command) {
  return sessions_.Do(command, clock_());
}

void Scheduler::Sweep(TimePoint now) {
  sessions_.Sweep(now);
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

void Scheduler::Execute(StepBatch& step) {
  const auto& items = step.batch.items;
  const TimePoint began = clock_();
  auto result = engine_.ExecuteUnifiedBatch(step.batch);
  if (result) {
    int32_t rows = 0;
    for (const auto& item : items) rows += static_cast<int32_t>(item.tokens.size());
    const double seconds = Seconds(clock_() - began);
    cost_.Observe(rows, seconds);
    builder_.Observe(step, seconds);
    for (size_t i = 0; i < items.size(); ++i) Apply(*step.requests[i], items[i], OutputsOf(*result, i, items[i]));
    return;
  }
  log::Warning("scheduler: a step of {} sequences failed: {}", items.size(), result.error().message);
  if (items.size() == 1) return End(*step.requests[0], FinishReason::kError, std::move(result.error()));
  // No sequence has grown. Run each item separately, so that only those at fault end.
  for (size_t i = 0; i < items.size(); ++i) ExecuteAlone(items[i], *step.requests[i]);
}

void Scheduler::ExecuteAlone(const engine::BatchItem& item, Request& request) {
  auto result = engine_.ExecuteUnifiedBatch({.items = {item}});
  if (!result) return End(request, FinishReason::kError, std::move(result.error()));
  Apply(request, item, OutputsOf(*result, 0, item));
}

void Scheduler::Apply(Request& request, const engine::BatchItem& item,
                      Result<const std::vector<engine::OutputResult>*> given) {
  if (!given) return End(request, FinishReason::kError, std::move(given.error()));
  const std::vector<engine::OutputResult>& outputs = **given;
  if (request.pooler) return ApplyHidden(request, item, outputs);
  const auto sampled = std::span(outputs).subspan(TakePromptLogprobs(request, outputs, item));
  const auto drafted = std::max(0, static_cast<int32_t>(sampled.size()) - 1);  // the item's last tokens
  const auto certain = static_cast<int32_t>(item.tokens.size()) - drafted;
  metrics_.prompt_tokens.Add(std::min(std::max(0, request.prompt_tokens() - request.length), certain));
  load_.shares.Charge(request.spec.account, certain);
  request.length += certain;
  drafted_ += drafted;
  request.drafted += drafted;
  metrics_.drafted_tokens.Add(drafted);
  for (int32_t right = 0; right < static_cast<int32_t>(sampled.size()); ++right) {
    const engine::OutputResult& next = sampled[static_cast<size_t>(right)];
    if (right < drafted && next.token == item.tokens[static_cast<size_t>(certain + right)]) {
      ++accepted_;
      ++request.accepted;
      metrics_.accepted_tokens.Add();
    }
    if (!TakeToken(request, next)) return;
    if (right == drafted) break;
    if (next.token != item.tokens[static_cast<size_t>(certain + right)]) break;
    ++request.length;  // an accepted draft token: its KV exists already
    load_.shares.Charge(request.spec.account, 1);
  }
  if (drafted == 0) return;
  const int32_t right = request.length - item.first_position - certain;
  request.drafts.Observe(drafted, right);
  if (right == drafted) return;
  if (auto cut = engine_.Truncate(*request.sequence, request.length); !cut) {
    End(request, FinishReason::kError, std::move(cut.error()));
  }
}

void Scheduler::ApplyHidden(Request& request, const engine::BatchItem& item,
                            const std::vector<engine::OutputResult>& outputs) {
  const auto count = static_cast<int32_t>(item.tokens.size());
  metrics_.prompt_tokens.Add(count);
  load_.shares.Charge(request.spec.account, count);
  request.length += count;
  for (const auto& output : outputs) request.pooler->Add(output.hidden);
  if (request.remaining() > 0) return;
  request.embedding = request.pooler->Take();
  const bool finite = std::ranges::all_of(request.embedding, [](float value) { return std::isfinite(value); });
  if (finite) return End(request, FinishReason::kStop);
  End(request, FinishReason::kError,
      {.code = ErrorCode::kInternal, .message = "the model's hidden states are not numbers"});
}

// How many of the outputs belong to the prompt.
size_t Scheduler::TakePromptLogprobs(Request& request, const std::vector<engine::OutputResult>& outputs,
                                     const engine::BatchItem& item) {
  size_t count = 0;
  while (count < outputs.size() && item.outputs[count].kind == engine::OutputSpec::Kind::kLogprobs) {
    request.prompt_logprobs.push_back(request.output.Describe(outputs[count++]));
    ++request.prompt_scored;
  }
  return count;
}

// False if this ended the request.
bool Scheduler::TakeToken(Request& request, const engine::OutputResult& sampled) {
  const auto end = [&](FinishReason reason, Error error = {}) {
    End(request, reason, std::move(error));
    return false;
  };
  if (sampled.token == engine::kNoToken) {
    return end(FinishReason::kError,
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
  request.mirostat_mu = sampled.mirostat_mu;
  ++request.generated;
  if (!request.spec.ignore_eos && tokenizer_->IsEndOfGeneration(sampled.token)) {
    request.stop_token = sampled.token;
    return end(FinishReason::kStop);
  }
  if (request.matcher) {
    auto taken = request.matcher->Accept(sampled.token);
    if (!taken) return end(FinishReason::kError, std::move(taken.error()));
  }
  request.tokens.push_back(sampled.token);
  request.output.Push(sampled);
  if (request.output.stopped()) return end(FinishReason::kStop);
  if (request.matcher && request.matcher->must_end()) return end(FinishReason::kStop);
  if (request.generated >= request.max_tokens) return end(FinishReason::kLength);
  Emit(request);
  return true;
}

void Scheduler::Emit(Request& request) {
  // Tokens without text wait for the next text, unless the client needs them one by one.
  if (!request.output.has_text() && !(request.spec.top_logprobs && request.output.has_tokens())) return;
  request.stream->Push(TakeEvent(request));
}

StreamEvent Scheduler::TakeEvent(Request& request) {
  StreamEvent event = request.output.Take();
  if (!request.wants_prompt_logprobs()) event.prompt = std::exchange(request.prompt_logprobs, {});
  return event;
}

void Scheduler::End(Request& request, FinishReason reason, Error error) {
  if (request.keeps_kv() && reason != FinishReason::kError) {
    sessions_.Keep(request, clock_());
  } else if (request.sequence) {
    if (auto closed = engine_.Close(*request.sequence); !closed) log::Error("scheduler: {}", closed.error().message);
  }
  if (drafts_) drafts_->Forget(request);
  load_.shares.Leave(request.spec.account);
  rate_.Finished(clock_());
  request.output.Finish();
  StreamEvent last = TakeEvent(request);
  last.embedding = std::move(request.embedding);
  last.finish = Finish{.reason = reason, .error = std::move(error), .usage = request.usage()};
  if (reason == FinishReason::kStop) {
    last.finish->stop_token = request.stop_token;
    if (!request.stop_token) last.finish->stop_string = request.output.stop_string();
  }
  request.stream->Push(std::move(last));
  const auto running = std::ranges::find(load_.running, &request, &RequestPtr::get);
  if (running != load_.running.end()) {
    load_.running.erase(running);
  } else {
    load_.waiting.Take(&request);
  }
}

void Scheduler::EndAll(FinishReason reason, const Error& error) {
  while (!load_.running.empty()) End(*load_.running.back(), reason, error);
  while (load_.waiting.size() > 0) End(*load_.waiting.all().back(), reason, error);
  Publish();
}

std::optional<TimePoint> Scheduler::next_deadline() const {
  std::optional<TimePoint> next = sessions_.next_expiry();
  const auto look = [&](const RequestPtr& request) {
    if (request->spec.deadline) next = std::min(next.value_or(TimePoint::max()), *request->spec.deadline);
  };
  std::ranges::for_each(load_.running, look);
  std::ranges::for_each(load_.waiting.all(), look);
  return next;
}

SchedulerStats Scheduler::stats() const {
  const auto usage = engine_.usage();
  return {.queued = static_cast<int32_t>(load_.waiting.size()),
          .running = static_cast<int32_t>(load_.running.size()),
          .kv_blocks_used = usage.blocks_used,
          .kv_blocks_free = usage.blocks_free + usage.blocks_cached,
          .preemptions = preemptions_,
          .drafted_tokens = drafted_,
          .accepted_tokens = accepted_,
          .retry_after_seconds = rate_.SecondsFor(static_cast<int32_t>(load_.waiting.size()), clock_())};
}

void Scheduler::Publish() {
  const SchedulerStats now = stats();
  metrics_.queue_depth.Set(now.queued);
  metrics_.running_sequences.Set(now.running);
  metrics_.SetKvBlocks(now.kv_blocks_used, now.kv_blocks_free);
}

}  // namespace inferflux::scheduler
