// The other ranks of a job on this host, as processes that this one starts.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "collective/collective.h"
#include "collective/shared_memory/segment.h"

namespace inferflux::collective {

class RankProcesses {
 public:
  // Where a rank's process finds the job's memory.
  static constexpr int kMemoryDescriptor = 3;

  // Starts ranks 1 to ranks - 1: `program` --rank R --ranks N and `arguments`. They are in process groups of their own,
  // and inherit standard output and error. `on_death` is called, on a thread of this object, for a process that ends
  // before Expect says so; the others' calls fail then.
  static Result<std::unique_ptr<RankProcesses>> Start(std::shared_ptr<Segment> segment, const std::string& program,
                                                      const std::vector<std::string>& arguments,
                                                      std::function<void(const Error&)> on_death);
  ~RankProcesses();  // waits for the processes, and kills those that do not end

  // From now on processes end as they should.
  void Expect() { expected_ = true; }

 private:
  struct Process {
    int32_t rank = 0;
    pid_t id = 0;
    int end = -1;  // of a pipe whose other end the process alone has
  };

  RankProcesses(std::shared_ptr<Segment> segment, std::function<void(const Error&)> on_death)
      : segment_(std::move(segment)), on_death_(std::move(on_death)) {}

  Status Spawn(const std::string& program, const std::vector<std::string>& arguments, int32_t rank);
  void Watch();
  void Report(const Process& process);

  std::shared_ptr<Segment> segment_;
  std::function<void(const Error&)> on_death_;
  std::vector<Process> processes_;
  std::atomic<bool> expected_{false};
  int stop_[2] = {-1, -1};  // a pipe that ends the watch
  std::thread watch_;
};

// The folder of this program.
std::string OwnFolder();

}  // namespace inferflux::collective
