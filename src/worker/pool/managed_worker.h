// One worker of a pool: its process, started again when it ends, and what it has said.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "metrics/registry.h"
#include "worker/contract/messages.h"
#include "worker/pool/restart_policy.h"
#include "worker/pool/worker_process.h"
#include "worker/remote/worker_link.h"
#include "worker/token.h"

namespace inferflux::worker {

struct WorkerTimes {
  std::chrono::milliseconds start{600'000};     // until it must be ready
  std::chrono::milliseconds heartbeat{15'000};  // between two
  std::chrono::milliseconds grace{30'000};      // for its requests when it stops
};

struct WorkerSpec {
  std::string id;
  int number = 0;  // unique in the pool
  std::string model;
  std::string backend;  // "cpu (native)"
  ProcessOptions process;
  WorkerTimes times;
  Token token;
};

enum class WorkerPhase : uint8_t {
  kWaiting,   // for its next start
  kOpen,      // the circuit is open: it ended too often
  kStarting,  // the process runs, and is not ready
  kServing,
  kDraining,  // asked to end
  kStopped,   // by an operator
  kEnded,     // for good
};
std::string_view NameOf(WorkerPhase phase);

// A worker as an operator sees it.
struct WorkerView {
  std::string id;
  std::string model;
  std::string backend;
  std::string program;
  WorkerPhase phase = WorkerPhase::kWaiting;
  std::optional<WorkerState> state;  // what it says of itself
  std::optional<LoadStage> progress;
  pid_t pid = 0;  // 0: no process
  std::string uri;
  WorkerLoad load;
  int32_t in_flight = 0;
  int64_t restarts = 0;
  double seconds_in_phase = 0;
  std::string last_end;  // how and why its last process ended
};

class ManagedWorker : public std::enable_shared_from_this<ManagedWorker> {
 public:
  // `on_lost` is called whenever a process that served has ended, on the thread of `io`.
  ManagedWorker(boost::asio::io_context& io, WorkerSpec spec, metrics::Registry& metrics,
                std::function<void(int number)> on_lost);

  const std::string& id() const { return spec_.id; }
  int number() const { return spec_.number; }

  // Runs on the one thread of `io` until the worker is retired and its process has ended.
  boost::asio::awaitable<void> Supervise();

  // --- any thread ---

  void OnReady(const ReadyCallback& message);
  void OnHeartbeat(const Heartbeat& message);
  void OnDeregistration(const Deregistration& message);

  void Retire();   // ends it for good
  void Drain();    // ends it until Restart
  void Restart();  // ends its process, if there is one, and starts another

  std::shared_ptr<WorkerLink> link() const;  // null unless it serves
  std::optional<engine::EngineInfo> engine() const;
  // Why the first process ended before it was ready; empty if it has not.
  std::optional<Error> first_failure() const;
  bool ended() const;
  WorkerView View() const;
  std::vector<std::string> Log() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Wish : uint8_t { kRun, kStop, kRetire };

  boost::asio::awaitable<void> RunOnce();
  boost::asio::awaitable<void> Watch(WorkerProcess& process);
  boost::asio::awaitable<void> Connect();
  boost::asio::awaitable<void> ReadLog(int descriptor);
  void TakeEnd(const std::string& how);
  void SetPhase(WorkerPhase phase);
  void AddLogLine(std::string line);

  boost::asio::io_context& io_;
  const WorkerSpec spec_;
  metrics::Registry& metrics_;
  const std::function<void(int)> on_lost_;

  mutable std::mutex mutex_;  // guards everything below
  RestartPolicy policy_;
  Wish wish_ = Wish::kRun;
  bool restart_ = false;
  WorkerPhase phase_ = WorkerPhase::kWaiting;
  Clock::time_point phase_began_ = Clock::now();
  pid_t pid_ = 0;
  std::string uri_;
  bool registered_ = false;
  std::optional<Heartbeat> heartbeat_;
  Clock::time_point last_heartbeat_{};
  Clock::time_point ready_at_{};
  std::optional<Deregistration> farewell_;
  std::shared_ptr<WorkerLink> link_;
  std::optional<engine::EngineInfo> engine_;
  std::optional<Error> first_failure_;
  std::string kill_reason_;
  std::string last_end_;
  std::deque<std::string> log_;
};

}  // namespace inferflux::worker
