#include "server/reply/event_log.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "net/sse.h"
#include "server/reply/reply_surface.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

constexpr std::string_view kEventEnd = "\n\n";  // JSON in one line has none

bool EndsResponse(std::string_view event) {
  for (const std::string_view name : {"completed", "incomplete", "failed"}) {
    if (event.starts_with("event: response." + std::string(name) + "\n")) return true;
  }
  return false;
}

}  // namespace

void EventLog::Append(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (ended_ || full_) return;
  full_ = bytes_.size() + bytes.size() > kMostBytes;
  if (!full_) AppendEvents(bytes);
  NotifyReaders();
}

void EventLog::End() {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  const size_t begin = ends_.size() > 1 ? ends_[ends_.size() - 2] : 0;
  if (!EndsResponse(std::string_view(bytes_).substr(begin))) {
    boost::json::object event;
    event["type"] = "error";
    event["sequence_number"] = ends_.size();
    event["code"] = full_ ? "too_long" : "ended";
    event["message"] = full_ ? "the events of this response are too long to be kept; get it whole once it is complete"
                             : "the response ended without its last event; get it to see why";
    event["param"] = nullptr;
    std::string bytes = "event: error\n";
    net::AppendSseData(bytes, boost::json::serialize(event));
    AppendEvents(bytes);
  }
  ended_ = true;
  NotifyReaders();
}

bool EventLog::Read(size_t& next, std::string& out) const {
  const std::lock_guard lock(mutex_);
  if (next < ends_.size()) {
    const size_t begin = next == 0 ? 0 : ends_[next - 1];
    out.append(bytes_, begin, std::string::npos);
    next = ends_.size();
  }
  return ended_;
}

void EventLog::Watch(const std::shared_ptr<net::Notifier>& reader) {
  const std::lock_guard lock(mutex_);
  std::erase_if(readers_, [](const auto& one) { return one.expired(); });
  readers_.push_back(reader);
}

std::string EventLog::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

// The mutex is locked.
void EventLog::AppendEvents(std::string_view bytes) {
  const size_t begin = bytes_.size();
  bytes_ += bytes;
  for (size_t end = bytes.find(kEventEnd); end != std::string_view::npos; end = bytes.find(kEventEnd, end + 1)) {
    ends_.push_back(begin + end + kEventEnd.size());
  }
}

// The mutex is locked; a notifier never blocks.
void EventLog::NotifyReaders() {
  for (const auto& reader : readers_) {
    if (const auto alive = reader.lock()) alive->Notify();
  }
}

asio::awaitable<void> FollowEvents(std::shared_ptr<EventLog> log, size_t first, net::ResponseWriter& writer) {
  net::Response head = EventStreamHead();
  log->Watch(writer.notifier());
  if (!co_await writer.Begin(std::move(head))) co_return;
  for (size_t next = first; !writer.Gone();) {
    std::string bytes;
    const bool ended = log->Read(next, bytes);
    if (ended) {
      co_await writer.End(std::move(bytes));
      co_return;
    }
    if (!bytes.empty() && !co_await writer.Write(std::move(bytes))) co_return;
    co_await writer.notifier()->Wait();
  }
}

}  // namespace inferflux::server
