#include "worker/service/pool_link.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace inferflux::worker {
namespace {

constexpr std::chrono::milliseconds kLoadingInterval{500};  // between heartbeats that report progress
constexpr std::chrono::milliseconds kNap{50};
constexpr std::chrono::milliseconds kAgain{1'000};

}  // namespace

PoolLink::PoolLink(const WorkerStatus& status, PoolLinkOptions options, std::function<void()> on_lost)
    : status_(status), options_(std::move(options)), on_lost_(std::move(on_lost)), thread_([this] { Main(); }) {}

PoolLink::~PoolLink() {
  stopping_ = true;
  thread_.join();
  Post("/deregister", ToText(status_.MakeDeregistration()));
}

PoolLink::Answer PoolLink::Post(const std::string& path, const std::string& body) const {
  net::Client client(options_.callback);
  client.connect_timeout = std::chrono::milliseconds(2'000);
  client.silence_timeout = std::chrono::milliseconds(5'000);
  const auto answer =
      client.Send({.method = "POST", .target = path, .headers = options_.token.Headers(), .body = body});
  if (!answer) {
    log::Debug("{} to the pool: {}", path, answer.error().message);
    return Answer::kNone;
  }
  return answer->status / 100 == 2 ? Answer::kTaken : Answer::kRefused;
}

// False when the worker stops.
bool PoolLink::Sleep(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (!stopping_ && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::min(kNap, time));
  return !stopping_;
}

bool PoolLink::Register() {
  for (const auto wait : options_.tries) {
    if (!Sleep(wait)) return true;
    if (Post("/ready", ToText(status_.MakeReady())) == Answer::kTaken) {
      log::Info("registered with the pool at {}:{}", options_.callback.host, options_.callback.port);
      return true;
    }
  }
  log::Error("the pool at {}:{} did not take the ready callback {} times; ending", options_.callback.host,
             options_.callback.port, options_.tries.size());
  return false;
}

// Running requests go on meanwhile.
bool PoolLink::RegisterAgain() {
  log::Warning("the pool at {}:{} does not take heartbeats; registering again", options_.callback.host,
               options_.callback.port);
  const auto until = std::chrono::steady_clock::now() + options_.orphan_time;
  while (std::chrono::steady_clock::now() < until) {
    if (Post("/ready", ToText(status_.MakeReady())) == Answer::kTaken) return true;
    if (!Sleep(kAgain)) return true;
  }
  log::Error("no pool took this worker for {} s; ending", options_.orphan_time.count() / 1000);
  return false;
}

void PoolLink::Main() {
  bool registered = false;
  uint64_t seen = 0;
  while (!stopping_) {
    const bool serves = status_.model() != nullptr;
    if (serves && !registered) {
      if (!Register()) return on_lost_();
      registered = true;
    }
    const Answer answer = Post("/heartbeat", ToText(status_.MakeHeartbeat()));
    if (answer != Answer::kTaken && registered && !RegisterAgain()) return on_lost_();
    const auto until = std::chrono::steady_clock::now() + (serves ? options_.heartbeat : kLoadingInterval);
    // A change of state is told at once.
    while (!stopping_ && std::chrono::steady_clock::now() < until) {
      const uint64_t before = seen;
      status_.AwaitChange(kNap, seen);
      if (seen != before) break;
    }
  }
}

}  // namespace inferflux::worker
