// Generations that run without a client's connection, until they end or are cancelled.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "net/response_writer.h"
#include "server/reply/job.h"

namespace inferflux::server {

// Takes the place of a connection: discards what is written, and is "gone" once it is cancelled.
class DetachedWriter final : public net::ResponseWriter {
 public:
  explicit DetachedWriter(boost::asio::any_io_executor strand)
      : notifier_(std::make_shared<net::Notifier>(std::move(strand))) {}

  boost::asio::awaitable<void> Send(net::Response) override { co_return; }
  boost::asio::awaitable<bool> Begin(net::Response) override { co_return !Gone(); }
  boost::asio::awaitable<bool> Write(std::string) override { co_return !Gone(); }
  boost::asio::awaitable<bool> End() override { co_return !Gone(); }
  bool Gone() const override { return cancelled_; }
  const std::shared_ptr<net::Notifier>& notifier() const override { return notifier_; }

  void Cancel() {
    cancelled_ = true;
    notifier_->Notify();
  }

 private:
  std::shared_ptr<net::Notifier> notifier_;
  std::atomic<bool> cancelled_{false};
};

// Any thread.
class BackgroundRuns {
 public:
  // Starts the job on the executor; `id` names it until it ends.
  void Start(const std::string& id, Job job, const boost::asio::any_io_executor& executor);
  // False if no job of this id runs.
  bool Cancel(const std::string& id);
  bool IsRunning(const std::string& id) const;
  // The number of jobs that run now.
  size_t size() const;

 private:
  struct Runs {
    std::mutex mutex;
    std::map<std::string, std::weak_ptr<DetachedWriter>> writers;
  };
  std::shared_ptr<Runs> runs_ = std::make_shared<Runs>();  // shared with the jobs, which may end later
};

}  // namespace inferflux::server
