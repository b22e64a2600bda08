#include "scheduler/speculation/draft_model.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"

namespace inferflux::scheduler {
namespace {

// Tokens that a draft model reads at once: running streams wait for it meanwhile.
constexpr size_t kReadAhead = 256;

}  // namespace

DraftModel::DraftModel(std::unique_ptr<engine::Engine> engine, std::vector<TokenId> end_tokens,
                       const std::function<TimePoint()>& clock)
    : engine_(std::move(engine)), end_tokens_(std::move(end_tokens)), clock_(clock) {}

void DraftModel::Draft(std::span<DraftTask> tasks) {
  std::vector<DraftTask*> active;
  for (DraftTask& task : tasks) {
    Reader* reader = Open(*task.request);
    task.mirostat_mu = task.request->mirostat_mu;
    task.matcher = task.request->matcher;
    if (reader != nullptr && task.count > 0 && CatchUp(task, *reader)) active.push_back(&task);
  }
  while (true) {
    std::erase_if(active, [](DraftTask* task) { return !Mask(*task); });
    if (active.empty()) return;
    engine::UnifiedBatch batch;
    for (const DraftTask* task : active) batch.items.push_back(NextItem(*task, readers_.at(task->request->number)));
    if (!Run(std::move(batch), active)) return;
    std::erase_if(active, [&](const DraftTask* task) {
      return static_cast<int32_t>(task->draft.size()) >= task->count || task->draft.empty() ||
             std::ranges::count(end_tokens_, task->draft.back()) > 0;
    });
  }
}

// What the request's grammar allows after the draft tokens; false at the end of the grammar.
bool DraftModel::Mask(DraftTask& task) {
  if (!task.matcher) return true;
  if (!task.draft.empty() && (!task.matcher->Accept(task.draft.back()) || task.matcher->must_end())) return false;
  auto mask = task.matcher->Mask();
  if (mask) task.mask = std::move(*mask);
  return mask.has_value();
}

// The request's sequence with as much of its text as the draft model has read; null if there is no room.
DraftModel::Reader* DraftModel::Open(const Request& request) {
  const auto found = readers_.find(request.number);
  if (found == readers_.end()) {
    auto opened = engine_->Open(request.tokens, request.spec.cache_salt);
    if (!opened) return nullptr;
    Reader reader{.sequence = opened->sequence, .fed = {}};
    reader.fed.assign(request.tokens.begin(), request.tokens.begin() + opened->cached_tokens);
    return &readers_.emplace(request.number, std::move(reader)).first->second;
  }
  Reader& reader = found->second;
  // Removes rejected draft tokens. The last token is always fed, for its logits.
  const auto differs = std::ranges::mismatch(reader.fed, request.tokens);
  const auto same = std::min(static_cast<size_t>(differs.in1 - reader.fed.begin()), request.tokens.size() - 1);
  if (same < reader.fed.size()) {
    if (!engine_->Truncate(reader.sequence, static_cast<int32_t>(same))) return nullptr;
    reader.fed.resize(same);
  }
  return &reader;
}

// Reads on, and makes room for the draft. True once all but the last token have been read.
bool DraftModel::CatchUp(DraftTask& task, Reader& reader) {
  const auto& tokens = task.request->tokens;
  const auto wanted = static_cast<int32_t>(tokens.size()) + task.count - 1;
  if (wanted > engine_->info().context || !engine_->Reserve(reader.sequence, wanted)) {
    Forget(*task.request);
    return false;
  }
  const size_t behind = tokens.size() - 1 - reader.fed.size();
  const size_t count = std::min(behind, kReadAhead);
  if (count < 2 && behind < 2) return true;  // a token or two go with the next step
  engine::BatchItem item{.sequence = reader.sequence, .first_position = static_cast<int32_t>(reader.fed.size())};
  const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(reader.fed.size());
  item.tokens.assign(first, first + static_cast<std::ptrdiff_t>(count));
  reader.fed.insert(reader.fed.end(), item.tokens.begin(), item.tokens.end());
  if (!Run({.items = {std::move(item)}}, {})) {
    Forget(*task.request);
    return false;
  }
  return count == behind;
}

engine::BatchItem DraftModel::NextItem(const DraftTask& task, const Reader& reader) const {
  const Request& request = *task.request;
  engine::BatchItem item{.sequence = reader.sequence, .first_position = static_cast<int32_t>(reader.fed.size())};
  if (task.draft.empty()) {
    item.tokens.assign(request.tokens.begin() + item.first_position, request.tokens.end());
  } else {
    item.tokens = {task.draft.back()};
  }
  engine::OutputSpec output{.token_index = static_cast<int32_t>(item.tokens.size()) - 1,
                            .sampling = request.spec.sampling,
                            .prompt_tokens = request.prompt_tokens(),
                            .draw = static_cast<uint64_t>(request.generated) + task.draft.size(),
                            .mirostat_mu = task.mirostat_mu};
  if (request.spec.ignore_eos) output.banned = end_tokens_;
  output.mask = task.mask;
  item.outputs.push_back(std::move(output));
  return item;
}

bool DraftModel::Run(engine::UnifiedBatch batch, std::span<DraftTask*> tasks) {
  int32_t rows = 0;
  for (const auto& item : batch.items) rows += static_cast<int32_t>(item.tokens.size());
  const TimePoint began = clock_();
  auto result = engine_->ExecuteUnifiedBatch(batch);
  if (!result) {
    log::Warning("scheduler: a draft failed: {}", result.error().message);
    for (const DraftTask* task : tasks) Forget(*task->request);
    return false;
  }
  cost_.Observe(rows, std::chrono::duration<double>(clock_() - began).count());
  for (size_t i = 0; i < tasks.size(); ++i) {
    auto& fed = readers_.at(tasks[i]->request->number).fed;
    fed.insert(fed.end(), batch.items[i].tokens.begin(), batch.items[i].tokens.end());
    const engine::OutputResult& drawn = result->items[i][0];
    tasks[i]->mirostat_mu = drawn.mirostat_mu;
    if (drawn.token == engine::kNoToken) {
      tasks[i]->count = static_cast<int32_t>(tasks[i]->draft.size());  // nothing more to draft
    } else {
      tasks[i]->draft.push_back(drawn.token);
    }
  }
  return true;
}

void DraftModel::Forget(const Request& request) {
  const auto found = readers_.find(request.number);
  if (found == readers_.end()) return;
  if (auto closed = engine_->Close(found->second.sequence); !closed) log::Error("draft: {}", closed.error().message);
  readers_.erase(found);
}

}  // namespace inferflux::scheduler
