// How models find room in the pool's budget, and how they leave it.
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/host_memory.h"
#include "base/log.h"
#include "serving/pool/model_pool.h"

namespace inferflux::serving {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kLeastKv = int64_t{64} << 20;

std::string MiB(int64_t bytes) { return fmt::format("{} MiB", (bytes + (1 << 20) - 1) >> 20); }

std::string DescribeHolders(const PoolUse& use) {
  if (use.holders.empty()) return "no model holds any of it";
  std::vector<std::string> out;
  for (const PoolUse::Holder& holder : use.holders) out.push_back(holder.id + " " + MiB(holder.bytes));
  return fmt::format("{} {} it", fmt::join(out, ", "), out.size() == 1 ? "holds" : "hold");
}

}  // namespace

Result<int64_t> ModelPool::Reserve(Place place, const HostMemoryNeed& need) {
  place->claim.Release();  // of an engine that did not load it
  place->need = need;
  place->granted_kv = 0;
  const bool draft = !place->request.draft.empty();
  const auto with_draft = [&](int64_t kv) { return kv + (draft ? DraftKv(kv) : 0); };
  const int64_t least_kv = need.kv_bytes > 0 ? need.kv_bytes : kLeastKv;
  const int64_t least = need.weight_bytes + (need.holds_kv ? with_draft(least_kv) : 0);
  auto claim = MakeRoom(place->request.id, least, need);
  if (!claim) return Forward(claim);
  place->claim = std::move(*claim);
  if (!need.holds_kv) return 0;
  place->granted_kv = least_kv;
  if (need.kv_bytes == 0) {
    // Half of what is left, so that there is room for other models.
    const int64_t free = ReadHostMemory().free - need.weight_bytes;
    place->granted_kv = std::max(kLeastKv, std::min(use().left() + kLeastKv, free) / 2);
    place->claim.Resize(need.weight_bytes + with_draft(place->granted_kv));
  }
  metrics_.SetUse(use());
  return place->granted_kv;
}

Result<PoolBudget::Claim> ModelPool::MakeRoom(const std::string& id, int64_t bytes, const HostMemoryNeed& need) {
  while (true) {
    std::optional<Leaving> leaving;
    {
      const std::lock_guard lock(mutex_);
      if (auto claim = budget_.Take(id, bytes)) return std::move(*claim);
      const std::vector<std::string> idle = EvictableLocked();
      int64_t possible = use().budget - use().used;
      for (const std::string& other : idle) possible += residents_.find(other)->second.claim.bytes();
      if (idle.empty() || possible < bytes) {
        return Fail(
            ErrorCode::kResourceExhausted,
            "the model '{}' needs {} ({} of weights, the rest for keys and values), and {} of the pool's {} are "
            "free: {}; unload one that is pinned or in use, or raise runtime.memory_budget",
            id, MiB(bytes), MiB(need.weight_bytes), MiB(use().left()), MiB(use().budget), DescribeHolders(use()));
      }
      if (auto removed = RemoveLocked(idle.front())) leaving = std::move(*removed);
    }
    if (leaving) Evict(std::move(*leaving), "memory");
  }
}

std::optional<ModelStay> ModelPool::Stay(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = residents_.find(id);
  if (found == residents_.end()) return std::nullopt;
  const Resident& resident = found->second;
  return ModelStay{.pinned = resident.pinned,
                   .keep_alive = resident.keep_alive,
                   .users = resident.use->users(),
                   .idle_since = resident.use->idle_since(),
                   .bytes = resident.claim.bytes()};
}

Status ModelPool::SetStay(const std::string& id, std::optional<bool> pinned,
                          std::optional<std::chrono::seconds> keep_alive) {
  bool found = false;
  {
    const std::lock_guard lock(mutex_);
    if (const auto resident = residents_.find(id); resident != residents_.end()) {
      found = true;
      resident->second.pinned = pinned.value_or(resident->second.pinned);
      resident->second.keep_alive = keep_alive.value_or(resident->second.keep_alive);
    }
  }
  if (!found) return Fail(ErrorCode::kNotFound, "the model '{}' is not loaded; {}", id, WhatThereIs());
  idle_->Wake();
  return {};
}

std::vector<std::string> ModelPool::EvictableLocked() const {
  // By the last lending: when the last user left says less, because a load holds its result a moment longer than its
  // callers.
  std::vector<std::pair<Clock::time_point, std::string>> idle;
  for (const auto& [id, resident] : residents_) {
    if (!resident.pinned && resident.use->users() == 0) idle.emplace_back(resident.use->last_lent(), id);
  }
  std::ranges::sort(idle);
  const auto ids = idle | std::views::values;
  return {ids.begin(), ids.end()};
}

void ModelPool::Evict(Leaving leaving, const std::string& reason) {
  leaving.model->scheduler->Stop();
  log::Info("{} is unloaded: {}", leaving.model->id,
            reason == "memory" ? "another model needs its memory" : "it was idle for its keep-alive");
  leaving = {};  // frees the model, and then its share of the budget
  metrics_.CountEviction(reason);
  metrics_.SetUse(use());
}

std::optional<Clock::time_point> ModelPool::UnloadIdle() {
  std::vector<Leaving> leaving;
  std::optional<Clock::time_point> next;
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> due;
    for (const auto& [id, resident] : residents_) {
      if (resident.pinned || resident.keep_alive == kKeepLoaded || resident.use->users() > 0) continue;
      const auto end = resident.use->idle_since() + resident.keep_alive;
      if (end <= Clock::now()) {
        due.push_back(id);
      } else {
        next = next ? std::min(*next, end) : end;
      }
    }
    for (const std::string& id : due) {
      if (auto removed = RemoveLocked(id)) leaving.push_back(std::move(*removed));
    }
  }
  for (Leaving& each : leaving) Evict(std::move(each), "idle");
  return next;
}

Result<ModelPool::Leaving> ModelPool::RemoveLocked(const std::string& id) {
  auto resident = residents_.extract(id);
  auto model = registry_.Remove(id);
  if (!model) return Forward(model);
  Leaving out{.model = std::move(*model), .resident = std::nullopt};
  if (resident) out.resident = std::move(resident.mapped());
  return out;
}

Status ModelPool::Unload(const std::string& id, std::chrono::milliseconds grace) {
  Leaving leaving;
  {
    const std::lock_guard lock(mutex_);
    if (std::erase_if(failed_, [&](const FailedModel& model) { return model.id == id; }) > 0) return {};
    auto removed = RemoveLocked(id);
    if (!removed) return Forward(removed);
    leaving = std::move(*removed);
    withdrawn_.insert(id);
  }
  // The registry no longer returns it, so the count only falls. A request holds its model until its last byte is sent.
  if (leaving.resident) leaving.resident->use->WaitForNone(Clock::now() + grace);
  leaving.model->scheduler->Stop();
  leaving = {};
  metrics_.CountEvent("unloaded");
  metrics_.SetUse(use());
  log::Info("{} is unloaded", id);
  return {};
}

}  // namespace inferflux::serving
