#include "server/reply/background_runs.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <utility>

#include "server/reply/reply_loop.h"

namespace inferflux::server {
namespace asio = boost::asio;

void BackgroundRuns::Start(const std::string& id, Job job, const asio::any_io_executor& executor, Events events) {
  const asio::any_io_executor strand = asio::make_strand(executor);
  const auto writer = std::make_shared<DetachedWriter>(strand, events.log);
  {
    const std::lock_guard lock(runs_->mutex);
    runs_->writers[id] = writer;
    if (events.log) runs_->logs[id] = events.log;
  }
  auto run = [](std::shared_ptr<Runs> runs, std::string name, Job work, std::shared_ptr<DetachedWriter> out,
                Events kept) -> asio::awaitable<void> {
    co_await Reply(std::move(work), *out);
    if (kept.log) {
      kept.log->End();
      kept.keep();
    }
    const std::lock_guard lock(runs->mutex);
    runs->writers.erase(name);
    runs->logs.erase(name);
  };
  asio::co_spawn(strand, run(runs_, id, std::move(job), writer, std::move(events)), asio::detached);
}

std::shared_ptr<EventLog> BackgroundRuns::EventsOf(const std::string& id) const {
  const std::lock_guard lock(runs_->mutex);
  const auto found = runs_->logs.find(id);
  return found == runs_->logs.end() ? nullptr : found->second;
}

bool BackgroundRuns::Cancel(const std::string& id) {
  const std::lock_guard lock(runs_->mutex);
  const auto found = runs_->writers.find(id);
  const auto writer = found == runs_->writers.end() ? nullptr : found->second.lock();
  if (!writer) return false;
  writer->Cancel();
  return true;
}

bool BackgroundRuns::IsRunning(const std::string& id) const {
  const std::lock_guard lock(runs_->mutex);
  return runs_->writers.contains(id);
}

size_t BackgroundRuns::size() const {
  const std::lock_guard lock(runs_->mutex);
  return runs_->writers.size();
}

}  // namespace inferflux::server
