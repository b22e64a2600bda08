// Generations that run without a client's connection, until they end or are cancelled.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "net/response_writer.h"
#include "server/reply/event_log.h"
#include "server/reply/job.h"

namespace inferflux::server {

// Takes the place of a connection, and is "gone" once it is cancelled. Keeps the pieces of a stream in `log`; without
// one, discards what is written.
class DetachedWriter final : public net::ResponseWriter {
 public:
  DetachedWriter(boost::asio::any_io_executor strand, std::shared_ptr<EventLog> log)
      : notifier_(std::make_shared<net::Notifier>(std::move(strand))), log_(std::move(log)) {}

  boost::asio::awaitable<void> Send(net::Response) override { co_return; }
  boost::asio::awaitable<bool> Begin(net::Response head) override {
    if (log_ && !head.body.empty()) log_->Append(head.body);
    co_return !Gone();
  }
  boost::asio::awaitable<bool> Write(std::string piece) override {
    if (log_ && !piece.empty()) log_->Append(piece);
    co_return !Gone();
  }
  boost::asio::awaitable<bool> End(std::string piece) override { return Write(std::move(piece)); }
  bool Gone() const override { return cancelled_; }
  const std::shared_ptr<net::Notifier>& notifier() const override { return notifier_; }

  void Cancel() {
    cancelled_ = true;
    notifier_->Notify();
  }

 private:
  std::shared_ptr<net::Notifier> notifier_;
  std::shared_ptr<EventLog> log_;
  std::atomic<bool> cancelled_{false};
};

// Any thread.
class BackgroundRuns {
 public:
  // What becomes of the events of a job that streams: they are kept in `log`, and `keep` is called at its end.
  struct Events {
    std::shared_ptr<EventLog> log;
    std::function<void()> keep;
  };
  // Starts the job on the executor; `id` names it until it ends.
  void Start(const std::string& id, Job job, const boost::asio::any_io_executor& executor, Events events);
  // False if no job of this id runs.
  bool Cancel(const std::string& id);
  bool IsRunning(const std::string& id) const;
  // Null if no job of this id runs and streams.
  std::shared_ptr<EventLog> EventsOf(const std::string& id) const;
  // The number of jobs that run now.
  size_t size() const;

 private:
  struct Runs {
    std::mutex mutex;
    std::map<std::string, std::weak_ptr<DetachedWriter>> writers;
    std::map<std::string, std::shared_ptr<EventLog>> logs;
  };
  std::shared_ptr<Runs> runs_ = std::make_shared<Runs>();  // shared with the jobs, which may end later
};

}  // namespace inferflux::server
