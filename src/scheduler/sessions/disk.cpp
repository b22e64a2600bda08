#include "scheduler/sessions/disk.h"

#include <utility>

namespace inferflux::scheduler {

DiskThread::DiskThread(std::function<void()> wake) : wake_(std::move(wake)), thread_([this] { Run(); }) {}

DiskThread::~DiskThread() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

void DiskThread::Post(Job job) {
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  posted_.notify_one();
}

void DiskThread::Collect() {
  std::vector<Done> done;
  {
    std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (const Done& each : done) each();
}

void DiskThread::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    Done done = job();
    job = {};  // its memory goes before anyone learns that it has finished
    lock.lock();
    done_.push_back(std::move(done));
    wake_();
  }
}

}  // namespace inferflux::scheduler
