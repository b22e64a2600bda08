#include "scheduler/scheduler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/file_faults/file_faults.h"
#include "base/log.h"
#include "scheduler/output/next_tokens.h"

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

// The embedding or the scores of a text, all of whose states have been added.
Result<std::vector<float>> TakePooled(Pooler& pooler, engine::Engine& engine) {
  if (engine.info().head_outputs == 0) return pooler.Take(engine.info().pooling.normalise);
  auto made = engine.ApplyHead(pooler.Take(false));
  if (made && engine.info().pooling.normalise) Normalise(*made);
  return made;
}

}  // namespace

Scheduler::Scheduler(engine::Engine& engine, std::shared_ptr<const text::Tokenizer> tokenizer, const StepPolicy& policy,
                     metrics::ModelMetrics metrics, Clock clock, SchedulerExtras extras)
    : engine_(engine),
      tokenizer_(std::move(tokenizer)),
      metrics_(metrics),
      clock_(std::move(clock)),
      load_(policy),
      sessions_(engine, extras.session_memory, std::move(extras.session_files), std::move(extras.shared_sessions),
                metrics_.session_file_errors, clock_()),
      drafts_(extras.draft
                  ? std::make_unique<DraftModel>(std::move(extras.draft), tokenizer_->end_of_generation(), clock_)
                  : nullptr),
      builder_(engine, sessions_, drafts_.get(), policy, cost_, tokenizer_->end_of_generation()),
      history_(extras.history),
      on_admitted_(std::move(extras.on_admitted)),
      on_under_way_(std::move(extras.on_under_way)),
      model_files_(std::move(extras.model_files)),
      file_faults_(extras.file_faults),
      seen_faults_(extras.file_faults) {}

void Scheduler::Submit(RequestPtr request) {
  if (request->spec.embed || request->spec.score)
    request->pooler.emplace(engine_.info().pooling, request->prompt_tokens());
  const GenerationRequest& spec = request->spec;
  if (spec.grammar || spec.reasoning) {
    request->matcher.emplace(tokenizer_, spec.grammar, spec.reasoning.get(), !spec.continues_text);
  }
  load_.shares.Enter(request->spec.account);
  load_.waiting.Push(std::move(request));
}

// Whether a file of the model has lost bytes. Its weights are not what they were then, and neither are the results of
// the step that noticed it.
bool Scheduler::LostFile() {
  if (const uint64_t faults = FileFaults(); faults != seen_faults_) {
    seen_faults_ = faults;
    for (const std::string& path : model_files_) {
      const std::string file = FaultedFile(path, file_faults_);
      if (file.empty() || lost_file_) continue;
      lost_file_ = Error{.code = ErrorCode::kDataLoss,
                         .message = fmt::format("{} was truncated or replaced while it was served: the model is lost; "
                                                "restore the file, unload the model and load it again",
                                                file)};
      log::Error("scheduler: {}", lost_file_->message);
    }
  }
  return lost_file_.has_value();
}

bool Scheduler::Step() {
  const TimePoint now = clock_();
  if (LostFile()) {
    EndAll(FinishReason::kError, *lost_file_);
    return false;
  }
  Sweep(now);
  StepBatch step = builder_.Build(load_, now);
  preemptions_ += step.preempted;
  for (auto& [request, error] : step.failed) End(*request, FinishReason::kError, std::move(error));
  const bool busy = !step.requests.empty() || !step.failed.empty();
  if (busy && on_admitted_) on_admitted_();
  if (!step.requests.empty()) Execute(step);
  Publish();
  return busy;
}

void Scheduler::Session(const SessionCommand& command, SessionReply reply) {
  sessions_.Do(command, clock_(), std::move(reply));
}

void Scheduler::Sweep(TimePoint now) {
  sessions_.Sweep(now);
  std::vector<Request*> gone;
  const auto look = [&](Request* request) {
    if (request->stream->cancelled() || Late(*request, now)) gone.push_back(request);
  };
  std::ranges::for_each(load_.running, look, &RequestPtr::get);
  std::ranges::for_each(load_.waiting.all(), look);
  for (Request* request : gone) {
    if (request->stream->cancelled()) {
      End(*request, FinishReason::kCancelled);
    } else {
      End(*request, FinishReason::kError, DeadlineError(*request));
    }
  }
}

// The step, and in the meantime what can be done for the next one, if the engine leaves time for it.
Result<engine::StepResult> Scheduler::Run(const StepBatch& step) {
  if (!engine_.info().async_steps) return engine_.ExecuteUnifiedBatch(step.batch);
  if (auto begun = engine_.Submit(step.batch); !begun) return Forward(begun);
  if (on_under_way_) on_under_way_();
  if (builder_.Prepare(load_, step, clock_()) > 0 && on_admitted_) on_admitted_();
  return engine_.Collect();
}

void Scheduler::Execute(StepBatch& step) {
  const auto& items = step.batch.items;
  const TimePoint began = clock_();
  auto result = Run(step);
  if (LostFile()) return;  // the next step ends all requests
  if (result) {
    int32_t rows = 0;
    for (const auto& item : items) rows += static_cast<int32_t>(item.tokens.size());
    const TimePoint ended = clock_();
    const double seconds = Seconds(ended - began);
    cost_.Observe(rows, seconds);
    builder_.Observe(step, seconds);
    for (size_t i = 0; i < items.size(); ++i) {
      Record(*step.requests[i], items[i], began, ended);
      Apply(*step.requests[i], items[i], OutputsOf(*result, i, items[i]));
    }
    return;
  }
  log::Warning("scheduler: a step of {} sequences failed: {}", items.size(), result.error().message);
  if (items.size() == 1) return End(*step.requests[0], FinishReason::kError, std::move(result.error()));
  // No sequence has grown. Run each item separately, so that only those at fault end.
  for (size_t i = 0; i < items.size(); ++i) ExecuteAlone(items[i], *step.requests[i]);
}

void Scheduler::Record(Request& request, const engine::BatchItem& item, TimePoint began, TimePoint ended) {
  if (request.decoding()) {
    request.timeline.Decode(request.SecondsUntil(began), request.SecondsUntil(ended));
  } else {
    request.timeline.Prefill(request.SecondsUntil(began), request.SecondsUntil(ended),
                             static_cast<int32_t>(item.tokens.size()));
  }
}

void Scheduler::ExecuteAlone(const engine::BatchItem& item, Request& request) {
  const TimePoint began = clock_();
  auto result = engine_.ExecuteUnifiedBatch({.items = {item}});
  if (!result) return End(request, FinishReason::kError, std::move(result.error()));
  Record(request, item, began, clock_());
  Apply(request, item, OutputsOf(*result, 0, item));
}

void Scheduler::Apply(Request& request, const engine::BatchItem& item,
                      Result<const std::vector<engine::OutputResult>*> given) {
  if (!given) return End(request, FinishReason::kError, std::move(given.error()));
  const std::vector<engine::OutputResult>& outputs = **given;
  if (request.pooler) return ApplyHidden(request, item, outputs);
  if (request.spec.next_tokens) return ApplyNextTokens(request, item, outputs);
  const auto sampled = std::span(outputs).subspan(TakePromptLogprobs(request, outputs, item));
  const auto drafted = std::max(0, static_cast<int32_t>(sampled.size()) - 1);  // the item's last tokens
  const auto certain = static_cast<int32_t>(item.tokens.size()) - drafted;
  metrics_.prompt_tokens.Add(std::min(std::max(0, request.prompt_tokens() - request.length), certain));
  request.length += certain;
  Charge(request);
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
    Charge(request);
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
  request.length += count;
  Charge(request);
  for (const auto& output : outputs) request.pooler->Add(output.hidden);
  if (request.remaining() > 0) return;
  auto pooled = TakePooled(*request.pooler, engine_);
  if (!pooled) return End(request, FinishReason::kError, std::move(pooled.error()));
  request.embedding = std::move(*pooled);
  const bool finite = std::ranges::all_of(request.embedding, [](float value) { return std::isfinite(value); });
  if (finite) return End(request, FinishReason::kStop);
  End(request, FinishReason::kError,
      {.code = ErrorCode::kInternal, .message = "the model's hidden states are not numbers"});
}

void Scheduler::ApplyNextTokens(Request& request, const engine::BatchItem& item,
                                const std::vector<engine::OutputResult>& outputs) {
  const auto count = static_cast<int32_t>(item.tokens.size());
  metrics_.prompt_tokens.Add(count);
  request.length += count;
  Charge(request);
  if (request.remaining() > 0 || outputs.empty()) return;
  const NextTokensQuery& query = *request.spec.next_tokens;
  auto next = ScoreNextTokens(outputs.back().logits, request.matcher ? &*request.matcher : nullptr,
                              std::span(request.spec.prompt).last(static_cast<size_t>(query.output_tokens)), query.top,
                              *tokenizer_);
  if (!next) return End(request, FinishReason::kError, std::move(next.error()));
  request.next_tokens = std::move(*next);
  End(request, FinishReason::kStop);
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
  request.timeline.AddToken();
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

void Scheduler::Charge(Request& request) {
  const int32_t tokens = std::max(0, request.length - request.charged);
  load_.shares.Charge(request.spec.account, tokens);
  if (const auto& bucket = request.spec.account_limits.tokens) bucket->Charge(tokens, clock_());
  request.charged = std::max(request.charged, request.length);
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
  if (request.spec.session) sessions_.Release(request);
  if (drafts_) drafts_->Forget(request);
  const TimePoint now = clock_();
  rate_.Finished(now);
  load_.shares.Finished(request.spec.account, now);
  load_.shares.Leave(request.spec.account);
  request.output.Finish();
  StreamEvent last = TakeEvent(request);
  last.embedding = std::move(request.embedding);
  last.next_tokens = std::move(request.next_tokens);
  last.finish = Finish{.reason = reason, .error = std::move(error), .usage = request.usage()};
  if (reason == FinishReason::kStop) {
    last.finish->stop_token = request.stop_token;
    if (!request.stop_token) last.finish->stop_string = request.output.stop_string();
  }
  metrics_.cached_tokens.Add(request.cached_tokens);
  request.timeline.End(request.SecondsUntil(now));
  last.finish->phases = request.timeline.phases();
  if (history_ != nullptr) {
    history_->Add({.request_id = request.spec.request_id,
                   .account = request.spec.account,
                   .seconds = request.SecondsUntil(now),
                   .reason = reason,
                   .usage = last.finish->usage,
                   .phases = last.finish->phases});
  }
  request.stream->Push(std::move(last));
  const auto running = std::ranges::find(load_.running, &request, &RequestPtr::get);
  if (running != load_.running.end()) {
    load_.running.erase(running);
  } else {
    load_.waiting.Take(&request);
  }
}

void Scheduler::EndWaiting(const Error& error) {
  std::vector<Request*> fresh;
  for (Request* request : load_.waiting.all()) {
    if (request->generated == 0) fresh.push_back(request);
  }
  if (fresh.empty()) return;
  for (Request* request : fresh) End(*request, FinishReason::kError, error);
  Publish();
}

void Scheduler::EndAll(FinishReason reason, const Error& error) {
  while (!load_.running.empty()) End(*load_.running.back(), reason, error);
  for (Request* request : load_.waiting.all()) End(*request, reason, error);
  Publish();
}

std::optional<TimePoint> Scheduler::next_deadline() const {
  std::optional<TimePoint> next = sessions_.next_expiry();
  const auto look = [&](const Request* request) {
    if (request->spec.deadline) next = std::min(next.value_or(TimePoint::max()), *request->spec.deadline);
  };
  std::ranges::for_each(load_.running, look, &RequestPtr::get);
  std::ranges::for_each(load_.waiting.all(), look);
  return next;
}

SchedulerStats Scheduler::stats() const {
  const auto usage = engine_.usage();
  const engine::GraphUsage graphs = engine_.graphs();
  return {.queued = static_cast<int32_t>(load_.waiting.size()),
          .running = static_cast<int32_t>(load_.running.size()),
          .kv_blocks_used = usage.blocks_used,
          .kv_blocks_free = usage.blocks_free + usage.blocks_cached,
          .kv_blocks_cached = usage.blocks_cached,
          .preemptions = preemptions_,
          .drafted_tokens = drafted_,
          .accepted_tokens = accepted_,
          .graphs = graphs.graphs,
          .graph_replays = graphs.replays,
          .graph_refusals = graphs.refusals,
          .retry_after_seconds = rate_.SecondsFor(static_cast<int32_t>(load_.waiting.size()), clock_())};
}

AccountLoads Scheduler::account_loads() const {
  AccountLoads out;
  const TimePoint now = clock_();
  for (auto& [account, queued] : load_.waiting.sizes()) {
    const int32_t seconds = load_.shares.SecondsFor(account, queued, now);
    out.emplace(std::move(account), AccountLoad{.queued = queued, .retry_after_seconds = seconds});
  }
  return out;
}

void Scheduler::Publish() {
  const SchedulerStats now = stats();
  metrics_.queue_depth.Set(now.queued);
  metrics_.running_sequences.Set(now.running);
  metrics_.SetKvBlocks(now.kv_blocks_used, now.kv_blocks_free, now.kv_blocks_cached);
  metrics_.graphs.Set(static_cast<double>(now.graphs));
  metrics_.graph_replays.Add(static_cast<double>(now.graph_replays - published_graphs_.replays));
  metrics_.graph_refusals.Add(static_cast<double>(now.graph_refusals - published_graphs_.refusals));
  published_graphs_ = {now.graphs, now.graph_replays, now.graph_refusals};
}

}  // namespace inferflux::scheduler
