#include "scheduler/batch_builder.h"

#include <algorithm>

#include "base/log.h"
#include "scheduler/speculation/prediction.h"
#include "scheduler/speculation/prompt_lookup.h"

namespace inferflux::scheduler {

namespace {

// Rows of prompt logits in a step: each row is as long as the vocabulary.
constexpr int32_t kScoredRows = 64;

// What the request's constraints allow next, and after each draft token. Draft tokens that they do not allow are
// dropped.
Result<std::vector<std::shared_ptr<const TokenMask>>> MasksOf(const Request& request, std::vector<TokenId>& draft) {
  text::OutputMatcher ahead = *request.matcher;
  auto mask = ahead.Mask();
  if (!mask) return Forward(mask);
  std::vector<std::shared_ptr<const TokenMask>> masks = {std::move(*mask)};
  for (size_t i = 0; i < draft.size(); ++i) {
    const bool goes_on = ahead.Accept(draft[i]) && !ahead.must_end();
    if (goes_on) mask = ahead.Mask();
    if (!goes_on || !mask) {
      draft.resize(i);
      break;
    }
    masks.push_back(std::move(*mask));
  }
  return masks;
}

void MoveToRunning(Workload& load, Request& next) {
  RequestPtr admitted = load.waiting.Take(&next);
  const auto place = std::ranges::find_if(load.running, [&](const auto& other) { return Outranks(next, *other); });
  load.running.insert(place, std::move(admitted));
}

}  // namespace

BatchBuilder::BatchBuilder(engine::Engine& engine, Sessions& sessions, DraftModel* drafts, const StepPolicy& policy,
                           const StepCost& cost, std::vector<TokenId> end_tokens)
    : engine_(engine),
      sessions_(sessions),
      drafts_(drafts),
      cost_(cost),
      goal_(policy.goal),
      speculation_(policy.speculation),
      max_running_(policy.max_running > 0 ? std::min(policy.max_running, engine.info().max_sequences)
                                          : engine.info().max_sequences),
      end_tokens_(std::move(end_tokens)) {
  step_tokens_are_set_ = policy.max_batch_tokens > 0;
  step_tokens_ = step_tokens_are_set_ ? policy.max_batch_tokens : engine.info().step_tokens;
}

StepBatch BatchBuilder::Build(Workload& load, TimePoint now) {
  PendingStep pending{.load = load, .step = {}};
  sharing_.Look(load, now);
  if (sharing_.shared(now)) pending.sit_out = sharing_.SitOut(load, NextWaiting(pending, now), step_tokens_);
  Fill(pending, now);
  pending.step.partial = !pending.sit_out.empty();
  // The prompt that the step was for could not be admitted.
  if (pending.step.partial && pending.step.requests.empty() && pending.step.failed.empty()) {
    pending.sit_out.clear();
    pending.step.partial = false;
    Fill(pending, now);
  }
  return std::move(pending.step);
}

void BatchBuilder::Fill(PendingStep& pending, TimePoint now) {
  AddDecodes(pending);
  pending.step.decoding = static_cast<int32_t>(pending.step.requests.size());
  pending.budget = PrefillBudget(pending.step.decoding, pending.budget, now);
  AddPrompts(pending, now);
}

void BatchBuilder::AddDecodes(PendingStep& pending) {
  std::vector<Request*> decoding;
  for (const auto& request : pending.load.running) {
    const bool ready = request->decoding() && !request->stream->full();
    if (ready && pending.TakesPart(*request)) decoding.push_back(request.get());
  }
  pending.budget = StepTokens(static_cast<int32_t>(decoding.size()));
  const int32_t spare = pending.budget - static_cast<int32_t>(decoding.size());
  const auto drafts = DraftTokens(decoding, spare);
  for (size_t i = 0; i < decoding.size(); ++i) {
    Request& request = *decoding[i];
    if (!request.sequence || !MakeRoom(pending, request)) continue;
    auto draft = drafts[i].draft;
    // A missing block is not worth a preemption.
    if (!draft.empty() && !engine_.Reserve(*request.sequence, request.total() + static_cast<int32_t>(draft.size()))) {
      draft.clear();
    }
    Add(pending, request, 1, draft);
  }
}

// The number of draft tokens worth making for the sequence. They must fit the context, and the `spare` rows of the
// step. `expected`: they are of a prediction.
int32_t BatchBuilder::DraftLength(Request& request, const Speculation& speculation, int32_t decoding, int32_t spare,
                                  bool expected) const {
  const bool by_model = speculation.kind == Speculation::Kind::kDraft;
  if (speculation.kind == Speculation::Kind::kNone || (by_model && drafts_ == nullptr)) return 0;
  if (!engine_.info().capabilities.speculative_verification) return 0;  // a rejected draft token could not be removed
  const int32_t limit = std::min({speculation.max_tokens, spare, request.max_tokens - request.generated - 1,
                                  engine_.info().context - request.total()});
  if (limit <= 0) return 0;
  return request.drafts.Length(cost_, by_model ? drafts_->Seconds(decoding) : 0.0, decoding, limit, expected);
}

// Drafts tokens for each of the sequences.
std::vector<DraftTask> BatchBuilder::DraftTokens(const std::vector<Request*>& decoding, int32_t spare) {
  std::vector<DraftTask> tasks;
  std::vector<DraftTask> by_model;
  std::vector<size_t> places;  // of by_model's tasks
  for (Request* request : decoding) {
    Speculation speculation = request->spec.speculation.value_or(speculation_);
    const auto output = std::span(request->tokens).subspan(request->spec.prompt.size());
    std::vector<TokenId> predicted = PredictedDraft(request->spec.prediction, output, kMaxDraftTokens);
    if (!predicted.empty()) {
      const auto known = static_cast<int32_t>(predicted.size());
      speculation = {.kind = Speculation::Kind::kPromptLookup, .max_tokens = known};
    }
    const int32_t length =
        DraftLength(*request, speculation, static_cast<int32_t>(decoding.size()), spare, !predicted.empty());
    DraftTask& task = tasks.emplace_back(DraftTask{.request = request, .count = length});
    if (length == 0) continue;
    if (!predicted.empty()) {
      predicted.resize(static_cast<size_t>(length));
      task.draft = std::move(predicted);
    } else if (speculation.kind == Speculation::Kind::kDraft) {
      places.push_back(tasks.size() - 1);
      by_model.push_back(task);
    } else {
      task.draft = LookUpDraft(request->tokens, length);
    }
    spare -= length;
  }
  if (!by_model.empty()) drafts_->Draft(by_model);
  for (size_t i = 0; i < places.size(); ++i) tasks[places[i]].draft = std::move(by_model[i].draft);
  return tasks;
}

// Decodes always fit, including those that resume after their readers paused. Unless the user set a limit, they leave
// as much to prompts as they take; otherwise new requests would wait for all of them.
int32_t BatchBuilder::StepTokens(int32_t decoding) const {
  return std::max(step_tokens_, step_tokens_are_set_ ? decoding : 2 * decoding);
}

int32_t BatchBuilder::PrefillBudget(int32_t decoding, int32_t left, TimePoint now) const {
  const bool chunked = engine_.info().causal && !step_tokens_are_set_;
  if (chunked && sharing_.shared(now)) left = std::min(left, sharing_.PromptRows(step_tokens_));
  if (goal_ == StepGoal::kThroughput || decoding == 0) return left;
  return std::min(left, latency_budget_.rows());
}

void BatchBuilder::Observe(const StepBatch& step, double seconds) {
  int32_t prefill = 0, rows = 0;
  for (size_t i = 0; i < step.batch.items.size(); ++i) {
    const auto count = static_cast<int32_t>(step.batch.items[i].tokens.size());
    rows += count;
    if (i >= static_cast<size_t>(step.decoding)) prefill += count;
  }
  sharing_.Observe(rows, seconds);
  if (step.partial) return;  // it says nothing about a step with all decodes
  latency_budget_.Observe(step.decoding, prefill, seconds);
}

void BatchBuilder::AddPrompts(PendingStep& pending, TimePoint now) {
  Workload& load = pending.load;
  const auto served = [&](const Request* request) { return load.shares.served(request->spec.account); };
  std::vector<Request*> begun;  // prompts of running requests
  for (const auto& request : load.running) {
    const bool ready = !request->decoding() && !request->stream->full();
    if (ready && pending.TakesPart(*request)) begun.push_back(request.get());
  }
  std::ranges::stable_sort(begun, {}, served);
  bool admits = !pending.crowded;
  auto next_begun = begun.begin();
  while (pending.budget > 0) {
    while (next_begun != begun.end() && !(*next_begun)->sequence) ++next_begun;  // was preempted
    Request* waiting = admits ? NextWaiting(pending, now) : nullptr;
    if (next_begun != begun.end() && (waiting == nullptr || served(waiting) >= served(*next_begun))) {
      Request& request = **next_begun++;
      Add(pending, request, PrefillLength(request, pending.budget));  // its blocks were reserved at admission
    } else if (waiting != nullptr) {
      admits = Admit(pending, *waiting, now);
    } else {
      return;
    }
  }
}

Request* BatchBuilder::NextWaiting(const PendingStep& pending, TimePoint now, const StepBatch* under_way) const {
  const Workload& load = pending.load;
  return load.waiting.Next(now, load.shares, [&](const Request& request) {
    if (!pending.TakesPart(request)) return false;
    if (request.stream->full() || AwaitsPrefix(load, request)) return false;
    if (under_way != nullptr && SharesWith(*under_way, request)) return false;
    const int32_t limit = request.spec.account_limits.running;
    if (limit > 0 && SequencesOf(load.running, request.spec.account) >= limit) return false;
    return !sessions_.AwaitsKv(request, KnownTokens(request), now);
  });
}

int32_t BatchBuilder::Prepare(Workload& load, const StepBatch& under_way, TimePoint now) {
  if (!engine_.info().causal) return 0;  // an encoder's text must fit what is left of a step as it is
  const PendingStep pending{.load = load, .step = {}};
  int32_t admitted = 0;
  int32_t budget = PromptRowsAfter(load, under_way, now);
  while (budget > 0 && static_cast<int32_t>(load.running.size()) < max_running_) {
    Request* next = NextWaiting(pending, now, &under_way);
    // Without room for it, Build decides who gives way.
    if (next == nullptr || !OpenSequence(load, *next, now)) break;
    MoveToRunning(load, *next);
    ++admitted;
    const int32_t count = PrefillLength(*next, budget);
    budget -= count;
    std::vector<TokenId> no_draft;
    // Copies of a matcher share their masks. An error is Build's.
    if (next->matcher && count == next->remaining()) (void)MasksOf(*next, no_draft);
  }
  return admitted;
}

// The rows that the step after `under_way` has for requests that wait now.
int32_t BatchBuilder::PromptRowsAfter(const Workload& load, const StepBatch& under_way, TimePoint now) const {
  int32_t decoding = 0, prompts = 0;
  for (const auto& request : load.running) {
    int32_t left = request->decoding() ? 0 : request->remaining();
    const auto found = std::ranges::find(under_way.requests, request.get());
    if (found != under_way.requests.end()) {
      const engine::BatchItem& item = under_way.batch.items[static_cast<size_t>(found - under_way.requests.begin())];
      left = std::max(0, left - static_cast<int32_t>(item.tokens.size()));
    }
    prompts += left;
    if (left == 0) ++decoding;
  }
  return PrefillBudget(decoding, StepTokens(decoding) - decoding, now) - prompts;
}

int32_t BatchBuilder::PrefillLength(const Request& request, int32_t budget) const {
  const int32_t length = std::min(request.remaining(), budget);
  return request.wants_prompt_logprobs() ? std::min(length, kScoredRows) : length;
}

// Position p scores the token after it.
void BatchBuilder::AskPromptLogprobs(const Request& request, int32_t count, engine::BatchItem& item) const {
  for (int32_t index = 0; index < count; ++index) {
    const int32_t next = item.first_position + index + 1;
    if (next >= request.prompt_tokens()) return;
    if (next - 1 < request.prompt_scored) continue;
    item.outputs.push_back({.token_index = index,
                            .kind = engine::OutputSpec::Kind::kLogprobs,
                            .target = request.tokens[static_cast<size_t>(next)],
                            .top_logprobs = request.spec.prompt_logprobs});
  }
}

// False if no further request can be admitted in this step.
bool BatchBuilder::Admit(PendingStep& pending, Request& next, TimePoint now) {
  Workload& load = pending.load;
  // An encoder's text is fed whole, if necessary in a separate step.
  const bool whole = !engine_.info().causal;
  if (whole && next.total() > pending.budget && !pending.step.requests.empty()) return false;
  if (static_cast<int32_t>(load.running.size()) >= max_running_ && !PreemptPaused(pending) &&
      !PreemptFor(pending, next, Shortage::kSequences)) {
    return false;
  }
  if (!OpenWithRoom(pending, next, now)) return false;
  MoveToRunning(load, next);
  Add(pending, next, whole ? next.remaining() : PrefillLength(next, pending.budget));
  return true;
}

bool BatchBuilder::OpenWithRoom(PendingStep& pending, Request& next, TimePoint now) {
  const Workload& load = pending.load;
  Status opened = OpenSequence(load, next, now);
  while (!opened && opened.error().code == ErrorCode::kResourceExhausted &&
         (sessions_.EvictLeastRecent() || PreemptPaused(pending) || PreemptFor(pending, next, Shortage::kMemory))) {
    opened = OpenSequence(load, next, now);
  }
  if (!opened && opened.error().code == ErrorCode::kUnavailable) return false;  // its session is read from disk
  // Where no other request runs, no memory will ever become free.
  if (!opened && load.running.empty()) pending.step.failed.emplace_back(&next, std::move(opened.error()));
  return opened.has_value();
}

void BatchBuilder::Add(PendingStep& pending, Request& request, int32_t count, std::vector<TokenId> draft) {
  const bool whole = count == request.remaining();
  const bool scores = request.spec.next_tokens.has_value();
  const bool samples = whole && !scores && !request.pooler;
  std::vector<std::shared_ptr<const TokenMask>> masks;
  if (samples && request.matcher) {
    auto made = MasksOf(request, draft);
    if (!made) {
      pending.step.failed.emplace_back(&request, std::move(made.error()));
      return;
    }
    masks = std::move(*made);
  }
  engine::BatchItem item{.sequence = *request.sequence, .first_position = request.length};
  const auto first = request.tokens.begin() + request.length;
  item.tokens.assign(first, first + count);
  item.tokens.insert(item.tokens.end(), draft.begin(), draft.end());
  const auto rows = static_cast<int32_t>(item.tokens.size());
  if (request.wants_prompt_logprobs()) AskPromptLogprobs(request, count, item);
  if (request.pooler) {
    item.second_text = request.spec.second_text;
    for (int32_t index = 0; index < rows; ++index) {
      if (!request.pooler->Wants(request.length + index)) continue;
      item.outputs.push_back({.token_index = index, .kind = engine::OutputSpec::Kind::kHidden});
    }
  } else if (scores) {
    if (whole) item.outputs.push_back({.token_index = rows - 1, .kind = engine::OutputSpec::Kind::kLogits});
  } else if (samples) {
    // Samples after the last certain token and after each draft token, each with the number of the draw that it would
    // have without speculation. So an accepted draft token changes nothing.
    for (int32_t index = count - 1; index < rows; ++index) {
      item.outputs.push_back({.token_index = index,
                              .sampling = request.spec.sampling,
                              .prompt_tokens = request.prompt_tokens(),
                              .draw = static_cast<uint64_t>(request.generated + index - (count - 1)),
                              .top_logprobs = request.spec.top_logprobs});
      if (index == count - 1) item.outputs.back().mirostat_mu = request.mirostat_mu;
      if (request.spec.ignore_eos) item.outputs.back().banned = end_tokens_;
      if (!masks.empty()) item.outputs.back().mask = masks[static_cast<size_t>(index - (count - 1))];
    }
  }
  pending.budget -= rows;
  pending.step.batch.items.push_back(std::move(item));
  pending.step.requests.push_back(&request);
}

// Reserves room for one more token of a decoding request.
bool BatchBuilder::MakeRoom(PendingStep& pending, Request& request) {
  while (true) {
    Status reserved = engine_.Reserve(*request.sequence, request.total());
    if (reserved) return true;
    if (reserved.error().code == ErrorCode::kResourceExhausted && sessions_.EvictLeastRecent()) continue;
    if (reserved.error().code != ErrorCode::kResourceExhausted || pending.load.running.size() == 1) {
      pending.step.failed.emplace_back(&request, std::move(reserved.error()));
      return false;
    }
    if (PreemptPaused(pending)) continue;
    pending.crowded = true;
    Request& loser = LosesRoom(pending.load.running);
    Preempt(pending, loser);
    if (&loser == &request) return false;
  }
}

// Cached positions have neither logits nor hidden states.
std::span<const TokenId> BatchBuilder::KnownTokens(const Request& request) const {
  if (!SharesPrefix(request) || request.wants_prompt_logprobs()) return {};
  return request.tokens;
}

Status BatchBuilder::OpenSequence(const Workload& load, Request& request, TimePoint now) {
  if (request.pooler) request.pooler->Restart();
  auto match = sessions_.Open(request, KnownTokens(request), now);
  if (!match) return Forward(match);
  Status reserved = engine_.Reserve(match->sequence, request.total());
  const auto usage = engine_.usage();
  if (reserved && usage.blocks_free + usage.blocks_cached < static_cast<int64_t>(load.running.size())) {
    // Keeps one block free for each running request; otherwise the new request would soon cause a preemption.
    reserved = Fail(ErrorCode::kResourceExhausted, "the KV store is in use");
  }
  if (!reserved) {
    if (auto closed = engine_.Close(match->sequence); !closed) log::Error("scheduler: {}", closed.error().message);
    return reserved;
  }
  request.sequence = match->sequence;
  request.length = match->cached_tokens;
  request.charged = std::max(request.charged, request.length);
  if (!request.was_admitted) request.cached_tokens = match->cached_tokens;
  request.was_admitted = true;
  return {};
}

// A client that does not read must not block others.
bool BatchBuilder::PreemptPaused(PendingStep& pending) {
  const auto& running = pending.load.running;
  const auto paused = std::find_if(running.rbegin(), running.rend(), [](const auto& r) { return r->stream->full(); });
  if (paused == running.rend()) return false;
  Preempt(pending, **paused);
  return true;
}

// An account that waits and holds less than another gets room from it.
bool BatchBuilder::PreemptFor(PendingStep& pending, const Request& waiting, Shortage shortage) {
  Request* loser = GivesWay(pending.load.running, waiting, shortage, pending.load.shares);
  if (loser == nullptr) return false;
  Preempt(pending, *loser);
  return true;
}

// Takes a request out of the step that is being built, if it is in it.
void BatchBuilder::Withdraw(PendingStep& pending, const Request& request) const {
  StepBatch& step = pending.step;
  const auto found = std::ranges::find(step.requests, &request);
  if (found == step.requests.end()) return;
  const auto index = found - step.requests.begin();
  const auto item = step.batch.items.begin() + index;
  pending.budget += static_cast<int32_t>(item->tokens.size());
  if (index < step.decoding) --step.decoding;
  step.batch.items.erase(item);
  step.requests.erase(found);
}

void BatchBuilder::Preempt(PendingStep& pending, Request& request) {
  Withdraw(pending, request);
  if (auto closed = engine_.Close(*request.sequence); !closed) log::Error("scheduler: {}", closed.error().message);
  if (drafts_ != nullptr) drafts_->Forget(request);
  request.sequence.reset();
  request.length = 0;
  request.timeline.Preempt();
  auto& running = pending.load.running;
  const auto found = std::ranges::find(running, &request, &RequestPtr::get);
  pending.load.waiting.Push(std::move(*found));
  running.erase(found);
  ++pending.step.preempted;
}

// Whether the request can use KV that others computed. Pooling over a whole text needs all of its hidden states.
bool BatchBuilder::SharesPrefix(const Request& request) const {
  return engine_.info().causal && (!request.pooler || request.pooler->last_only());
}

// Whether the step computes KV that the request can share once the step is over.
bool BatchBuilder::SharesWith(const StepBatch& under_way, const Request& request) const {
  if (!SharesPrefix(request) || request.wants_prompt_logprobs()) return false;
  const int32_t block = engine_.info().block_size;
  return std::ranges::any_of(under_way.requests, [&](const Request* other) {
    if (other->spec.cache_salt != request.spec.cache_salt) return false;
    const auto differs = std::ranges::mismatch(other->tokens, request.tokens);
    return (differs.in1 - other->tokens.begin()) / block > other->length / block;
  });
}

// Whether most of the request is being computed for another one, whose blocks it can share a step or two later.
bool BatchBuilder::AwaitsPrefix(const Workload& load, const Request& request) const {
  if (!SharesPrefix(request) || request.wants_prompt_logprobs()) return false;
  for (const auto& other : load.running) {
    if (other->decoding() || other->spec.cache_salt != request.spec.cache_salt) continue;
    const auto differs = std::ranges::mismatch(other->tokens, request.tokens);
    const auto shared = static_cast<int32_t>(differs.in1 - other->tokens.begin()) / engine_.info().block_size *
                        engine_.info().block_size;
    if (other->length < shared && shared - other->length > request.total() / 2) return true;
  }
  return false;
}

}  // namespace inferflux::scheduler
