// Runs what waits for a disk away from the thread that steps the engine.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace inferflux::scheduler {

class Disk {
 public:
  // What is to be done on the scheduler's thread after a job.
  using Done = std::function<void()>;
  using Job = std::function<Done()>;

  virtual ~Disk() = default;

  // Never blocks. Jobs run one at a time, in this order.
  virtual void Post(Job job) = 0;
  // Runs what the finished jobs have left to do. Post and Collect are called by one thread only.
  virtual void Collect() = 0;
};

class DiskThread final : public Disk {
 public:
  // Calls `wake` on the disk's thread when a job has finished.
  explicit DiskThread(std::function<void()> wake);
  // Runs all jobs that were posted, so that nothing is lost; what they have left to do is dropped.
  ~DiskThread() override;

  void Post(Job job) override;
  void Collect() override;

 private:
  void Run();

  const std::function<void()> wake_;
  std::mutex mutex_;  // guards what follows, up to the thread
  std::condition_variable posted_;
  std::deque<Job> jobs_;
  std::vector<Done> done_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace inferflux::scheduler
