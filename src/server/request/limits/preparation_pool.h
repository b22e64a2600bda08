// The threads that prepare requests: parse, render, tokenise and compile, so that none of it blocks a socket. Clients
// take turns: the next thread goes to the client that has the fewest, and each has a limit (limits.preparations), so
// that one client's slow requests do not hold all threads. A preparation has a limit of processor time and a deadline,
// and ends early when its client leaves: see base/work_budget.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "net/response_writer.h"
#include "server/request/access/api_keys.h"
#include "server/request/api_error.h"

namespace inferflux::server {

// The code of the errors of limits.
inline constexpr std::string_view kPreparationLimit = "preparation_limit";

struct PreparationLimits {
  int threads = 4;
  std::chrono::milliseconds cpu{5'000};  // of one preparation; 0: no limit
  std::chrono::seconds time{30};         // until it is done, with the wait for a thread; 0: no limit
};

class PreparationPool {
 public:
  explicit PreparationPool(const PreparationLimits& limits)
      : limits_(limits), threads_(static_cast<size_t>(limits.threads)) {}

  // Runs `work` on one of the threads when it is the caller's turn, and returns when it has ended. An error means that
  // what it made must be discarded, or that it never ran: 400 if it took too much processor time, 503 if it was not
  // done in time or the client left. What `work` throws is thrown here.
  boost::asio::awaitable<ApiStatus> Run(const Caller& caller, net::ResponseWriter& writer, std::function<void()> work);

  // The same for work that is certainly small: runs it at once on this thread, which is a socket's, since the way to
  // another thread and back takes longer. If the client's slots are taken, or the work uses more than kMostHere after
  // all, it takes the way of any other; so `work` may run twice.
  boost::asio::awaitable<ApiStatus> RunSmall(const Caller& caller, net::ResponseWriter& writer,
                                             std::function<void()> work);

  // Of processor time, on a socket's thread.
  static constexpr std::chrono::milliseconds kMostHere{2};

  // The same without limits of time, for work that is not the client's to make long, such as reading a file. It is not
  // ended early.
  boost::asio::awaitable<void> RunWhole(const Caller& caller, net::ResponseWriter& writer, std::function<void()> work);

  // Requests that wait for a thread.
  size_t waiting() const;

  // Waits for what runs and waits.
  void Join() { threads_.join(); }

 private:
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;
  struct Queue {
    std::deque<EntryPtr> entries;
    int64_t slots = 0;  // as the latest of its requests says; 0: no limit
    int64_t running = 0;
    uint64_t last_turn = 0;
  };

  boost::asio::awaitable<void> Await(EntryPtr entry, net::ResponseWriter& writer);
  ApiStatus Outcome(const Entry& entry) const;
  void Post(const Caller& caller, const EntryPtr& entry);
  bool Withdraw(const EntryPtr& entry);
  void Dispatch();  // under the mutex
  void RunOne(const EntryPtr& entry);
  bool RunHere(const Caller& caller, const std::function<void()>& work);
  bool Enter(const Caller& caller);
  void Leave(const std::string& client);  // under the mutex

  const PreparationLimits limits_;
  mutable std::mutex mutex_;             // guards everything below
  std::map<std::string, Queue> queues_;  // of clients that wait or run
  int running_ = 0;
  uint64_t turns_ = 0;
  boost::asio::thread_pool threads_;
};

}  // namespace inferflux::server
