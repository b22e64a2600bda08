// A worker's process: started with a clean environment, its token in a pipe, its log read by the parent.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace inferflux::worker {

struct ProcessOptions {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "NAME=VALUE": all of it
  std::string secret;                    // what the process reads from kSecretPath,
  bool secret_on_input = false;          //   or from its standard input, which a launcher passes on (kInputPath)
  std::vector<int> cores;                // that it may use; empty: all
};

class WorkerProcess {
 public:
  static constexpr const char* kSecretPath = "/dev/fd/3";
  static constexpr const char* kInputPath = "/dev/stdin";

  // The process ends when this one does (on Linux), is in a process group of its own, and inherits no other descriptor.
  // Call it on a thread that lives as long as this process: the end of the thread would end the worker too.
  static Result<WorkerProcess> Start(const ProcessOptions& options);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  ~WorkerProcess();  // kills it, and waits

  pid_t pid() const { return pid_; }
  // The read end of what it writes to standard output and error. The caller takes it once, and closes it.
  int TakeLog();

  void Signal(int signal) const;
  // Whether it has ended, and how: "exit code 3", "signal 9".
  std::optional<std::string> Ended();

 private:
  WorkerProcess(pid_t pid, int log) : pid_(pid), log_(log) {}

  pid_t pid_;
  int log_;
  std::optional<std::string> ended_;
};

// This process's environment without its own settings, for workers: they get theirs as arguments.
std::vector<std::string> EnvironmentForWorkers();

}  // namespace inferflux::worker
