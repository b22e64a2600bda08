#include "worker/service/worker_status.h"

#include <utility>

#include "base/version/version.h"
#include "serving/backends/target.h"

namespace inferflux::worker {
namespace {

std::vector<std::string> CapabilityNames(const engine::EngineInfo& engine) {
  std::vector<std::string> out;
  const auto add = [&](const auto& field) {
    if (engine.capabilities.*field.member) out.emplace_back(field.name);
  };
  std::apply([&](const auto&... field) { (add(field), ...); }, MessageOf<compute::Capabilities>::Fields());
  return out;
}

// Where the model's bytes are, by the kind of device.
MemoryArchitecture MemoryOf(const engine::EngineInfo& engine) {
  const auto hint = serving::ParseTarget(engine.backend);
  if (!hint || !serving::Traits(hint->target).gpu_accelerated) return MemoryArchitecture::kHost;
  const bool apple = hint->target == serving::Target::kMps || hint->target == serving::Target::kMlx;
  return apple ? MemoryArchitecture::kUnified : MemoryArchitecture::kDiscrete;
}

}  // namespace

void WorkerStatus::SetListening(std::string uri) {
  const std::lock_guard lock(mutex_);
  uri_ = std::move(uri);
  Changed();
}

void WorkerStatus::SetLoading(std::shared_ptr<const serving::LoadProgress> progress, int64_t weight_bytes) {
  const std::lock_guard lock(mutex_);
  state_ = WorkerState::kLoading;
  progress_ = std::move(progress);
  weight_bytes_ = weight_bytes;
  Changed();
}

void WorkerStatus::SetServing(std::shared_ptr<const serving::ServedModel> model) {
  const std::lock_guard lock(mutex_);
  if (state_ == WorkerState::kDraining) return;
  state_ = WorkerState::kReady;
  progress_.reset();
  engine_ = model->engine;
  model_ = std::move(model);
  Changed();
}

void WorkerStatus::SetFailed(WorkerErrorCode code, std::string reason) {
  const std::lock_guard lock(mutex_);
  state_ = WorkerState::kFailed;
  progress_.reset();
  code_ = code;
  reason_ = std::move(reason);
  Changed();
}

void WorkerStatus::SetDraining() {
  const std::lock_guard lock(mutex_);
  if (state_ != WorkerState::kFailed) state_ = WorkerState::kDraining;
  Changed();
}

WorkerState WorkerStatus::StateLocked() const {
  if (state_ != WorkerState::kReady) return state_;
  return model_->scheduler->stats().queued > 0 ? WorkerState::kBusy : WorkerState::kReady;
}

WorkerState WorkerStatus::state() const {
  const std::lock_guard lock(mutex_);
  return StateLocked();
}

std::shared_ptr<const serving::ServedModel> WorkerStatus::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

std::string WorkerStatus::uri() const {
  const std::lock_guard lock(mutex_);
  return uri_;
}

std::optional<LoadStage> WorkerStatus::ProgressLocked() const {
  if (!progress_) return std::nullopt;
  const serving::LoadProgress::Snapshot now = progress_->Read();
  LoadStage out;
  out.stage = now.backend.empty() ? "device" : now.fraction < 1 ? "weights" : "warm-up";
  out.fraction = now.fraction;
  out.bytes = static_cast<int64_t>(now.fraction * static_cast<double>(weight_bytes_));
  out.all_bytes = weight_bytes_;
  return out;
}

WorkerLoad WorkerStatus::LoadLocked() const { return model_ ? ToMessage(model_->scheduler->stats()) : WorkerLoad(); }

int64_t WorkerStatus::MemoryLocked() const {
  int64_t out = 0;
  for (const engine::DeviceMemory& device : engine_.memory) out += device.weight_bytes + device.kv_bytes;
  return out;
}

WorkerInfo WorkerStatus::Info() const {
  const std::lock_guard lock(mutex_);
  WorkerInfo out{.worker_id = worker_id_,
                 .version = kVersion,
                 .state = StateLocked(),
                 .uptime_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(),
                 .model = model_path_};
  if (state_ == WorkerState::kFailed) out.error = reason_;
  out.progress = ProgressLocked();
  out.load = LoadLocked();
  if (!model_) return out;
  out.architecture = model_->info.architecture;
  out.quantization = model_->info.quantization;
  out.memory_architecture = MemoryOf(engine_);
  out.memory_bytes = MemoryLocked();
  out.engine = engine_;
  return out;
}

Heartbeat WorkerStatus::MakeHeartbeat() const {
  const std::lock_guard lock(mutex_);
  return {
      .worker_id = worker_id_, .uri = uri_, .state = StateLocked(), .progress = ProgressLocked(), .load = LoadLocked()};
}

ReadyCallback WorkerStatus::MakeReady() const {
  const std::lock_guard lock(mutex_);
  return {.worker_id = worker_id_,
          .model_ref = model_path_,
          .backend = engine_.backend + "/" + engine_.provider,
          .uri = uri_,
          .memory_bytes = MemoryLocked(),
          .memory_architecture = MemoryOf(engine_),
          .capabilities = CapabilityNames(engine_),
          .version = kVersion};
}

Deregistration WorkerStatus::MakeDeregistration() const {
  const std::lock_guard lock(mutex_);
  return {.worker_id = worker_id_, .code = code_, .reason = reason_};
}

void WorkerStatus::AwaitChange(std::chrono::milliseconds most, uint64_t& seen) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return version_ != seen; });
  seen = version_;
}

}  // namespace inferflux::worker
