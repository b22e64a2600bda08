#include "compute/cuda/backend/ranks/device_ranks.h"

#include <chrono>
#include <utility>

namespace inferflux::cuda {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);

}  // namespace

DeviceRanks::DeviceRanks(std::shared_ptr<collective::Collective> ranks, std::unique_ptr<NcclCommunicator> communicator)
    : ranks_(std::move(ranks)), communicator_(std::move(communicator)), watch_([this] { Watch(); }) {}

DeviceRanks::~DeviceRanks() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ends_.notify_all();
  watch_.join();
}

Status DeviceRanks::Check() const {
  {
    const std::lock_guard lock(mutex_);
    if (!failed_) return failed_;
  }
  return communicator_->AsyncError();  // that the watch has not seen yet
}

void DeviceRanks::Watch() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, kLook, [&] { return ending_; })) {
    lock.unlock();
    Status still = ranks_->Health();
    if (still) still = communicator_->AsyncError();
    lock.lock();
    if (still) continue;
    failed_ = still;  // before the abort, so that a thread that it wakes sees the error
    lock.unlock();
    communicator_->Abort();
    return;
  }
}

}  // namespace inferflux::cuda
