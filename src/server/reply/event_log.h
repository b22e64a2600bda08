// The server-sent events of a generation that outlives its client's connection. One run writes them; any number of
// clients read them, from any event on. Any thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/notifier.h"
#include "net/response_writer.h"

namespace inferflux::server {

class EventLog {
 public:
  // More than 64,000 deltas. What does not fit is not kept, and the log says so at its end.
  static constexpr size_t kMostBytes = 16u << 20;

  // `bytes`: whole events, each with an empty line behind it.
  void Append(std::string_view bytes);
  // There will be no more events. If the last one does not end a response, an error event is added.
  void End();

  // Appends the events from number `next` on to `out`, and moves `next` behind them. True if there will be no more.
  bool Read(size_t& next, std::string& out) const;
  // Notifies after each change, as long as the notifier lives.
  void Watch(const std::shared_ptr<net::Notifier>& reader);

  // All events.
  std::string bytes() const;

 private:
  void AppendEvents(std::string_view bytes);
  void NotifyReaders();

  mutable std::mutex mutex_;
  std::string bytes_;
  std::vector<size_t> ends_;  // of each event, in bytes_
  bool full_ = false;
  bool ended_ = false;
  std::vector<std::weak_ptr<net::Notifier>> readers_;
};

// Writes the events from number `first` on to a client, until the log ends or the client leaves.
boost::asio::awaitable<void> FollowEvents(std::shared_ptr<EventLog> log, size_t first, net::ResponseWriter& writer);

}  // namespace inferflux::server
