// What a worker is doing, for its endpoints and for its heartbeats. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "serving/models/load_progress.h"
#include "serving/models/served_model.h"
#include "worker/contract/generation_codec.h"
#include "worker/contract/messages.h"

namespace inferflux::worker {

class WorkerStatus {
 public:
  WorkerStatus(std::string worker_id, std::string model_path)
      : worker_id_(std::move(worker_id)), model_path_(std::move(model_path)) {}

  const std::string& worker_id() const { return worker_id_; }

  void SetListening(std::string uri);
  // The device is being tested; then the weights are loaded.
  void SetLoading(std::shared_ptr<const serving::LoadProgress> progress, int64_t weight_bytes);
  void SetServing(std::shared_ptr<const serving::ServedModel> model);
  void SetFailed(WorkerErrorCode code, std::string reason);
  void SetDraining();

  WorkerState state() const;
  std::shared_ptr<const serving::ServedModel> model() const;  // null until it serves
  std::string uri() const;
  WorkerInfo Info() const;
  Heartbeat MakeHeartbeat() const;
  ReadyCallback MakeReady() const;
  Deregistration MakeDeregistration() const;

  // Sleeps until the state changes or the time has passed.
  void AwaitChange(std::chrono::milliseconds most, uint64_t& seen) const;

  // The generations that are being answered.
  std::atomic<int32_t> answering{0};

 private:
  WorkerState StateLocked() const;
  std::optional<LoadStage> ProgressLocked() const;
  WorkerLoad LoadLocked() const;
  int64_t MemoryLocked() const;
  void Changed() {
    ++version_;
    changed_.notify_all();
  }

  const std::string worker_id_;
  const std::string model_path_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  uint64_t version_ = 0;
  WorkerState state_ = WorkerState::kStarting;
  std::string uri_;
  std::shared_ptr<const serving::LoadProgress> progress_;
  int64_t weight_bytes_ = 0;
  std::shared_ptr<const serving::ServedModel> model_;
  engine::EngineInfo engine_;
  WorkerErrorCode code_ = WorkerErrorCode::kCancelled;
  std::string reason_ = "it was asked to stop";
};

}  // namespace inferflux::worker
