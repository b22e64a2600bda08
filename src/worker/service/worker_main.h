// The main function of every worker program: one model, on the engines that the program brings.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "engine/native/native_backends.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::worker {

// Exit codes beside 0 and the command line's kUsageError; docs/workers.md lists them.
inline constexpr int kCannotServe = 1;   // it could not listen, or a setting is wrong
inline constexpr int kLoadFailed = 3;    // the model could not be loaded
inline constexpr int kNoPool = 4;        // the pool did not take the worker
inline constexpr int kDeviceFailed = 5;  // the device computed something wrong
inline constexpr int kTooLittleMemory = 6;
inline constexpr int kLostRank = 7;  // a process that shared the model has ended

using MakeEngines = std::function<std::vector<serving::EngineEntry>(ThreadPool&)>;

// Runs until a signal, POST /shutdown, or a failure. Returns the exit code. `ranked`: the backends that may run a rank
// of a job that mpirun started; rank 0 of such a job is the worker, and the others compute.
int WorkerMain(const std::string& program, int argc, const char* const* argv, const MakeEngines& engines,
               std::span<const engine::NativeBackend> ranked = {});

}  // namespace inferflux::worker
