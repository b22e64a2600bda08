// Runs tasks one after the other on a thread of its own, which starts with the first task.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace inferflux::serving {

class LoaderThread {
 public:
  LoaderThread() = default;
  ~LoaderThread();  // runs the tasks that wait
  LoaderThread(const LoaderThread&) = delete;
  LoaderThread& operator=(const LoaderThread&) = delete;

  void Run(std::function<void()> task);  // any thread

 private:
  void Main();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace inferflux::serving
