#include "server/request/limits/preparation_pool.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/work_budget/work_budget.h"

namespace inferflux::server {
namespace asio = boost::asio;

struct PreparationPool::Entry {
  Entry(std::string whose, std::function<void()> what, std::shared_ptr<net::Notifier> waiting, bool has_limits)
      : client(std::move(whose)), work(std::move(what)), notifier(std::move(waiting)), bounded(has_limits) {}

  const std::string client;
  const std::function<void()> work;
  const std::shared_ptr<net::Notifier> notifier;  // of the waiting coroutine
  const bool bounded;
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  std::stop_source stop = {};
  // Set by the thread before `done`:
  WorkBudget::End end = WorkBudget::End::kNone;
  std::exception_ptr thrown = {};
  std::atomic<bool> done{false};
};

asio::awaitable<ApiStatus> PreparationPool::Run(const Caller& caller, net::ResponseWriter& writer,
                                                std::function<void()> work) {
  const auto entry = std::make_shared<Entry>(caller.client(), std::move(work), writer.notifier(), true);
  if (limits_.time.count() > 0) entry->deadline = std::chrono::steady_clock::now() + limits_.time;
  Post(caller, entry);
  co_await Await(entry, writer);
  co_return Outcome(*entry);
}

asio::awaitable<ApiStatus> PreparationPool::RunSmall(const Caller& caller, net::ResponseWriter& writer,
                                                     std::function<void()> work) {
  if (RunHere(caller, work)) co_return ApiStatus();
  co_return co_await Run(caller, writer, std::move(work));
}

// False if `work` did not run, or not to its end.
bool PreparationPool::RunHere(const Caller& caller, const std::function<void()>& work) {
  if (!Enter(caller)) return false;
  struct Slot {
    PreparationPool& pool;
    const std::string client;
    ~Slot() {
      const std::lock_guard lock(pool.mutex_);
      pool.Leave(client);
      pool.Dispatch();
    }
  } const slot{*this, caller.client()};
  const auto cpu = limits_.cpu.count() > 0 ? std::min(limits_.cpu, kMostHere) : kMostHere;
  WorkBudget budget({.cpu = cpu});
  work();
  return budget.end() == WorkBudget::End::kNone;
}

// Takes one of the client's slots, if none of its requests waits for one.
bool PreparationPool::Enter(const Caller& caller) {
  const std::lock_guard lock(mutex_);
  Queue& queue = queues_[caller.client()];
  const int64_t slots = caller.limits.preparations.value_or(0);
  if (!queue.entries.empty() || (slots > 0 && queue.running >= slots)) return false;
  queue.slots = slots;
  ++queue.running;
  return true;
}

void PreparationPool::Leave(const std::string& client) {
  const auto queue = queues_.find(client);
  if (--queue->second.running == 0 && queue->second.entries.empty()) queues_.erase(queue);
}

asio::awaitable<void> PreparationPool::RunWhole(const Caller& caller, net::ResponseWriter& writer,
                                                std::function<void()> work) {
  const auto entry = std::make_shared<Entry>(caller.client(), std::move(work), writer.notifier(), false);
  Post(caller, entry);
  co_await Await(entry, writer);
}

// What runs is waited for, even if the client has left: `work` refers to what the caller holds.
asio::awaitable<void> PreparationPool::Await(EntryPtr entry, net::ResponseWriter& writer) {
  asio::steady_timer late(co_await asio::this_coro::executor);
  if (entry->deadline) {
    late.expires_at(*entry->deadline);
    late.async_wait([notifier = writer.notifier()](boost::system::error_code cancelled) {
      if (!cancelled) notifier->Notify();
    });
  }
  while (!entry->done.load(std::memory_order_acquire)) {
    const bool gone = entry->bounded && writer.Gone();
    const bool is_late = entry->deadline && std::chrono::steady_clock::now() >= *entry->deadline;
    if (gone) entry->stop.request_stop();
    if ((gone || is_late) && Withdraw(entry)) {
      entry->end = gone ? WorkBudget::End::kStopped : WorkBudget::End::kDeadline;
      break;
    }
    co_await writer.notifier()->Wait();
  }
  if (entry->thrown) std::rethrow_exception(entry->thrown);
}

ApiStatus PreparationPool::Outcome(const Entry& entry) const {
  switch (entry.end) {
    case WorkBudget::End::kNone:
      return {};
    case WorkBudget::End::kCpu:
      return RefuseAs(kPreparationLimit, "",
                      fmt::format("preparing this request took more than {} ms of processor time, which is the limit "
                                  "(limits.preparation_cpu_ms): make its text or its schema smaller",
                                  limits_.cpu.count()));
    case WorkBudget::End::kDeadline:
      return tl::make_unexpected(
          ApiError{503,
                   fmt::format("this request could not be prepared within {} s (limits.preparation_seconds): too many "
                               "requests are rendered, tokenised and compiled at once; try again later",
                               limits_.time.count()),
                   "service_unavailable_error", "", std::string(kPreparationLimit)});
    case WorkBudget::End::kStopped:
      break;
  }
  return tl::make_unexpected(FromStatus(503, "the client has left, or the server is stopping"));
}

size_t PreparationPool::waiting() const {
  const std::lock_guard lock(mutex_);
  size_t out = 0;
  for (const auto& [client, queue] : queues_) out += queue.entries.size();
  return out;
}

void PreparationPool::Post(const Caller& caller, const EntryPtr& entry) {
  const std::lock_guard lock(mutex_);
  Queue& queue = queues_[entry->client];
  queue.slots = caller.limits.preparations.value_or(0);
  queue.entries.push_back(entry);
  Dispatch();
}

// False if it runs already, or has ended.
bool PreparationPool::Withdraw(const EntryPtr& entry) {
  const std::lock_guard lock(mutex_);
  const auto queue = queues_.find(entry->client);
  if (queue == queues_.end() || std::erase(queue->second.entries, entry) == 0) return false;
  if (queue->second.entries.empty() && queue->second.running == 0) queues_.erase(queue);
  return true;
}

void PreparationPool::Dispatch() {
  while (running_ < limits_.threads) {
    Queue* next = nullptr;
    for (auto& [client, queue] : queues_) {
      if (queue.entries.empty() || (queue.slots > 0 && queue.running >= queue.slots)) continue;
      const auto rank = [](const Queue& of) { return std::pair(of.running, of.last_turn); };
      if (next == nullptr || rank(queue) < rank(*next)) next = &queue;
    }
    if (next == nullptr) return;
    EntryPtr entry = std::move(next->entries.front());
    next->entries.pop_front();
    next->last_turn = ++turns_;
    ++next->running;
    ++running_;
    asio::post(threads_, [this, entry = std::move(entry)] { RunOne(entry); });
  }
}

void PreparationPool::RunOne(const EntryPtr& entry) {
  try {
    if (entry->bounded) {
      WorkBudget budget({.cpu = limits_.cpu, .deadline = entry->deadline, .stop = entry->stop.get_token()});
      if (budget.end() == WorkBudget::End::kNone) entry->work();
      entry->end = budget.end();
    } else {
      entry->work();
    }
  } catch (...) {
    entry->thrown = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    --running_;
    Leave(entry->client);
    Dispatch();
  }
  entry->done.store(true, std::memory_order_release);
  entry->notifier->Notify();
}

}  // namespace inferflux::server
