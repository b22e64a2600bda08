// A disk that works when a test says so, on the test's thread.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "scheduler/sessions/disk.h"

namespace inferflux::scheduler {

class DiskByHand final : public Disk {
 public:
  bool held = false;  // jobs wait for Run

  void Post(Job job) override {
    jobs_.push_back(std::move(job));
    if (!held) Run();
  }
  void Run(size_t count = static_cast<size_t>(-1)) {
    for (; count > 0 && !jobs_.empty(); --count) {
      done_.push_back(jobs_.front()());
      jobs_.pop_front();
    }
  }
  void Collect() override {
    for (const Done& each : std::exchange(done_, {})) each();
  }
  size_t waiting() const { return jobs_.size(); }

 private:
  std::deque<Job> jobs_;
  std::vector<Done> done_;
};

}  // namespace inferflux::scheduler
