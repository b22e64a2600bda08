// A rule that a kernel broke, as a value: which rule, who, where.
#pragma once

#include <source_location>
#include <string>
#include <tl/expected.hpp>

#include "base/result.h"
#include "compute/cuda/device/language.h"

namespace inferflux::cuda::executor {

enum class Rule {
  kLaunchLimit,         // a grid, a block or shared memory beyond what the architecture has
  kCallerNotInMask,     // a lane calls a _sync operation whose mask does not name it
  kLanesApart,          // lanes that a mask names wait at different call sites, or for each other
  kExitedLane,          // a barrier or a mask counts on a thread that has returned
  kPartialWarp,         // an .aligned operation without all 32 lanes
  kShuffleSource,       // a shuffle reads a lane that takes no part
  kBarrierDivergence,   // threads of a block wait at different barriers, or some never come
  kWaitsForOtherBlock,  // a thread spins on what no thread of its block changes
  kOutOfBounds,         // an access outside of every allocation, or beyond the block's shared memory
  kUseAfterFree,        // an access to freed device memory
  kForeignMemory,       // an access to the host's memory, to another thread's stack or another block's shared memory
  kUninitialised,       // a read of bytes that were never written
  kMisaligned,          // an address that is not a multiple of the access size
  kRaceInBlock,         // two threads of a block, no barrier between them, at least one writes
  kRaceBetweenBlocks,   // the same between blocks, no fence and atomic between them
  kCopyInFlight,        // cp.async's destination is touched before the copy was waited for
  kExecutorLimit,       // not the kernel's fault: the executor's own tables are full
};

const char* RuleName(Rule rule);

struct Fault {
  Rule rule = Rule::kLaunchLimit;
  std::string kernel;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
  std::string site;    // file:line where it is known
  std::string detail;  // one sentence
};

using Outcome = tl::expected<void, Fault>;

// "kernel RmsNorm<float>, block (0, 0, 0), thread (3, 0, 0), rms_norm.cu:41: ..."
Error ToError(const Fault& fault);

// "rms_norm.cu:41"
std::string Where(const std::source_location& site);

// Names of functions and call sites from the program's debug information, through addr2line where it is installed.
std::string FunctionName(const void* function);
std::string CodeLocation(const void* return_address);

}  // namespace inferflux::cuda::executor
