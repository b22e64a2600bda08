#include "worker/pool/managed_worker.h"

#include <signal.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <utility>

#include "base/log.h"
#include "net/url.h"
#include "worker/contract/codec.h"

namespace inferflux::worker {
namespace asio = boost::asio;
namespace {

constexpr auto kPoolAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kTick{20};
constexpr std::chrono::seconds kBeyondGrace{2};  // for the process to end once its requests have
constexpr std::chrono::seconds kSlack{1};        // of a heartbeat, on a machine that is busy
constexpr std::chrono::hours kWait{24};          // for a part of an answer
constexpr std::chrono::seconds kInfoTime{5};     // for the answer of /info
constexpr size_t kLogLines = 500;
constexpr size_t kLogLineBytes = 4096;

asio::awaitable<void> Tick(asio::io_context& io) {
  asio::steady_timer timer(io, kTick);
  co_await timer.async_wait(kPoolAwait);
}

ErrorCode ToErrorCode(WorkerErrorCode code) {
  if (code == WorkerErrorCode::kInsufficientMemory) return ErrorCode::kResourceExhausted;
  return ErrorCode::kUnavailable;
}

}  // namespace

std::string_view NameOf(WorkerPhase phase) {
  switch (phase) {
    case WorkerPhase::kWaiting:
      return "waiting";
    case WorkerPhase::kOpen:
      return "open";
    case WorkerPhase::kStarting:
      return "starting";
    case WorkerPhase::kServing:
      return "serving";
    case WorkerPhase::kDraining:
      return "draining";
    case WorkerPhase::kStopped:
      return "stopped";
    case WorkerPhase::kEnded:
      break;
  }
  return "ended";
}

ManagedWorker::ManagedWorker(asio::io_context& io, WorkerSpec spec, metrics::Registry& metrics,
                             std::function<void(int)> on_lost)
    : io_(io),
      spec_(std::move(spec)),
      metrics_(metrics),
      on_lost_(std::move(on_lost)),
      policy_(static_cast<uint64_t>(spec_.number)) {}

asio::awaitable<void> ManagedWorker::Supervise() {
  const auto self = shared_from_this();
  for (;;) {
    bool start = false;
    {
      const std::lock_guard lock(mutex_);
      if (wish_ == Wish::kRetire) break;
      if (std::exchange(restart_, false)) {
        policy_.Reset();
        wish_ = Wish::kRun;
      }
      start = wish_ == Wish::kRun && Clock::now() >= policy_.next_start();
      if (!start) {
        SetPhase(wish_ == Wish::kStop ? WorkerPhase::kStopped
                 : policy_.open()     ? WorkerPhase::kOpen
                                      : WorkerPhase::kWaiting);
      }
    }
    if (start) {
      co_await RunOnce();
    } else {
      co_await Tick(io_);
    }
  }
  const std::lock_guard lock(mutex_);
  SetPhase(WorkerPhase::kEnded);
}

asio::awaitable<void> ManagedWorker::RunOnce() {
  {
    const std::lock_guard lock(mutex_);
    SetPhase(WorkerPhase::kStarting);
    registered_ = false;
    heartbeat_.reset();
    farewell_.reset();
    kill_reason_.clear();
    uri_.clear();
  }
  auto process = WorkerProcess::Start(spec_.process);
  if (!process) {
    TakeEnd(process.error().message);
    co_return;
  }
  {
    const std::lock_guard lock(mutex_);
    pid_ = process->pid();
  }
  log::Info("worker {} of {} is process {}", spec_.id, spec_.model, process->pid());
  asio::co_spawn(
      io_, [self = shared_from_this(), log = process->TakeLog()] { return self->ReadLog(log); }, asio::detached);
  co_await Watch(*process);
}

// Returns when the process has ended.
asio::awaitable<void> ManagedWorker::Watch(WorkerProcess& process) {
  const auto deadline = Clock::now() + spec_.times.start;
  std::optional<Clock::time_point> kill_at;
  for (;;) {
    if (const auto how = process.Ended()) {
      TakeEnd(*how);
      co_return;
    }
    const auto now = Clock::now();
    bool connect = false;
    {
      const std::lock_guard lock(mutex_);
      std::string reason;
      const bool serves = phase_ == WorkerPhase::kServing;
      const bool starts = phase_ == WorkerPhase::kStarting;
      connect = registered_ && starts && wish_ == Wish::kRun && !restart_;
      if (starts && now > deadline) {
        reason = fmt::format("it was not ready within {} s", spec_.times.start.count() / 1000);
      } else if (serves && now - last_heartbeat_ > 3 * spec_.times.heartbeat + kSlack) {
        reason = "it missed three heartbeats";
      } else if (kill_at && now > *kill_at) {
        reason = "it did not stop within its grace time";
      }
      if (!reason.empty() && kill_reason_.empty()) {
        kill_reason_ = reason;
        log::Warning("worker {}: {}; killing it", spec_.id, reason);
        process.Signal(SIGKILL);
      }
      if ((wish_ != Wish::kRun || restart_) && !kill_at) {
        link_.reset();  // no new requests; those that it has keep their connection
        SetPhase(WorkerPhase::kDraining);
        process.Signal(SIGTERM);
        kill_at = now + spec_.times.grace + kBeyondGrace;
      }
    }
    if (connect) co_await Connect();
    co_await Tick(io_);
  }
}

// Asks a worker that has registered what it runs. From then on it gets requests.
asio::awaitable<void> ManagedWorker::Connect() {
  std::string uri;
  {
    const std::lock_guard lock(mutex_);
    uri = uri_;
  }
  const auto address = net::ParsePlainAddress(uri);
  if (!address) co_return;
  const auto link = std::make_shared<WorkerLink>();
  link->worker_id = spec_.id;
  link->headers = spec_.token.Headers();
  // A request may wait for its turn for any time. Heartbeats tell whether the worker lives.
  link->client = std::make_shared<net::AsyncClient>(io_, *address, net::AsyncClientOptions{.silence_timeout = kWait});
  const auto prompt =
      std::make_shared<net::AsyncClient>(io_, *address, net::AsyncClientOptions{.silence_timeout = kInfoTime});
  // Named, because GCC 12 destroys such a temporary twice inside a co_await expression.
  const net::ClientRequest request{.method = "GET", .target = "/info", .headers = link->headers, .body = {}};
  const auto answer = co_await prompt->Send(request);
  if (!answer || answer->status != 200) co_return;
  auto info = FromText<WorkerInfo>(answer->body);
  if (!info || !info->engine) {
    log::Warning("worker {}: its /info breaks the contract: {}", spec_.id, info ? "no engine" : info.error().Joined());
    co_return;
  }
  const std::lock_guard lock(mutex_);
  if (wish_ != Wish::kRun || restart_) co_return;
  engine_ = std::move(*info->engine);
  link_ = link;
  ready_at_ = last_heartbeat_ = Clock::now();
  policy_.Ready(ready_at_);
  SetPhase(WorkerPhase::kServing);
  log::Info("worker {} serves {} at {}", spec_.id, spec_.model, uri);
}

void ManagedWorker::TakeEnd(const std::string& how) {
  bool served = false;
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    served = ready_at_ != Clock::time_point{};
    last_end_ = how;
    if (farewell_ && farewell_->code != WorkerErrorCode::kCancelled) last_end_ += ": " + farewell_->reason;
    if (!kill_reason_.empty()) last_end_ += ": " + kill_reason_;
    if (!served && !engine_ && !first_failure_) {
      first_failure_ =
          Error{.code = farewell_ ? ToErrorCode(farewell_->code) : ErrorCode::kUnavailable,
                .message = farewell_ ? farewell_->reason : fmt::format("its process ended: {}", last_end_)};
    }
    if (wish_ == Wish::kRun && !restart_) {
      policy_.Ended(now, served ? now - ready_at_ : Clock::duration{});
      metrics_
          .GetCounter("inferflux_worker_restarts_total", "Processes of workers that ended unasked.",
                      {{"model", spec_.model}})
          .Add();
      log::Warning("worker {} ended: {}{}", spec_.id, last_end_,
                   policy_.open() ? "; too often: its circuit is open" : "");
    } else {
      log::Info("worker {} ended: {}", spec_.id, last_end_);
    }
    ready_at_ = {};
    link_.reset();
    pid_ = 0;
    registered_ = false;
  }
  if (served) on_lost_(spec_.number);
}

asio::awaitable<void> ManagedWorker::ReadLog(int descriptor) {
  const auto self = shared_from_this();
  asio::posix::stream_descriptor pipe(io_, descriptor);
  std::array<char, 4096> bytes;
  std::string line;
  for (;;) {
    auto [error, read] = co_await pipe.async_read_some(asio::buffer(bytes), kPoolAwait);
    if (error) break;
    for (size_t i = 0; i < read; ++i) {
      const bool ends = bytes[i] == '\n';
      if (ends || line.size() == kLogLineBytes) AddLogLine(std::exchange(line, {}));
      if (!ends) line += bytes[i];
    }
  }
  if (!line.empty()) AddLogLine(std::move(line));
}

// The worker's lines are lines of the pool's log too. Those of its libraries do not say whose they are.
void ManagedWorker::AddLogLine(std::string line) {
  if (line.find("worker_id") != std::string::npos) {
    fmt::print(stderr, "{}\n", line);
  } else {
    log::Write(log::Level::kInfo, line, {{"worker_id", spec_.id}});
  }
  const std::lock_guard lock(mutex_);
  log_.push_back(std::move(line));
  if (log_.size() > kLogLines) log_.pop_front();
}

void ManagedWorker::SetPhase(WorkerPhase phase) {
  if (phase == phase_) return;
  const auto gauge = [&](WorkerPhase each) {
    return metrics_.GetGauge("inferflux_worker_state", "1 for the state that a worker is in.",
                             {{"model", spec_.model}, {"worker", spec_.id}, {"state", std::string(NameOf(each))}});
  };
  gauge(phase_).Set(0);
  gauge(phase).Set(1);
  phase_ = phase;
  phase_began_ = Clock::now();
}

void ManagedWorker::OnReady(const ReadyCallback& message) {
  const std::lock_guard lock(mutex_);
  uri_ = message.uri;
  registered_ = true;
  last_heartbeat_ = Clock::now();
}

void ManagedWorker::OnHeartbeat(const Heartbeat& message) {
  const std::lock_guard lock(mutex_);
  heartbeat_ = message;
  uri_ = message.uri;
  last_heartbeat_ = Clock::now();
  // It was told to stop by someone else. It ends when its requests have.
  if (message.state == WorkerState::kDraining && phase_ == WorkerPhase::kServing) {
    link_.reset();
    SetPhase(WorkerPhase::kDraining);
  }
}

void ManagedWorker::OnDeregistration(const Deregistration& message) {
  const std::lock_guard lock(mutex_);
  farewell_ = message;
  link_.reset();
}

void ManagedWorker::Retire() {
  const std::lock_guard lock(mutex_);
  wish_ = Wish::kRetire;
}

void ManagedWorker::Drain() {
  const std::lock_guard lock(mutex_);
  if (wish_ == Wish::kRun) wish_ = Wish::kStop;
}

void ManagedWorker::Restart() {
  const std::lock_guard lock(mutex_);
  restart_ = true;
}

std::shared_ptr<WorkerLink> ManagedWorker::link() const {
  const std::lock_guard lock(mutex_);
  return link_;
}

std::optional<engine::EngineInfo> ManagedWorker::engine() const {
  const std::lock_guard lock(mutex_);
  return engine_;
}

std::optional<Error> ManagedWorker::first_failure() const {
  const std::lock_guard lock(mutex_);
  return first_failure_;
}

bool ManagedWorker::ended() const {
  const std::lock_guard lock(mutex_);
  return phase_ == WorkerPhase::kEnded;
}

WorkerView ManagedWorker::View() const {
  const std::lock_guard lock(mutex_);
  WorkerView out{.id = spec_.id,
                 .model = spec_.model,
                 .backend = spec_.backend,
                 .program = spec_.process.program,
                 .phase = phase_,
                 .pid = pid_,
                 .uri = pid_ > 0 ? uri_ : "",
                 .restarts = policy_.restarts(),
                 .seconds_in_phase = std::chrono::duration<double>(Clock::now() - phase_began_).count(),
                 .last_end = last_end_};
  if (pid_ > 0 && heartbeat_) {
    out.state = heartbeat_->state;
    out.progress = heartbeat_->progress;
    out.load = heartbeat_->load;
  }
  if (link_) out.in_flight = link_->in_flight;
  return out;
}

std::vector<std::string> ManagedWorker::Log() const {
  const std::lock_guard lock(mutex_);
  return {log_.begin(), log_.end()};
}

}  // namespace inferflux::worker
