// Barriers, and what the lanes of a warp do together: each lane brings its operand, the last one computes for all.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "compute/cuda/host_executor/meet.h"
#include "compute/cuda/host_executor/run.h"

namespace inferflux::cuda::executor {
namespace {

bool SameSite(const Site& a, const Site& b) {
  if (a.line() != b.line() || a.column() != b.column()) return false;
  return a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0;
}

// Why this lane may not join in.
void CheckMask(Run& run, const Thread& thread, unsigned mask, Site site) {
  const Warp& warp = *thread.warp;
  if ((mask >> thread.lane & 1) == 0) {
    run.Raise(Rule::kCallerNotInMask, site, fmt::format("lane {} calls with mask {:#x}", thread.lane, mask));
  }
  if ((mask & ~warp.present) != 0) {
    run.Raise(Rule::kExitedLane, site, fmt::format("mask {:#x} names lanes that the block does not have", mask));
  }
  if ((mask & warp.exited) != 0) {
    run.Raise(Rule::kExitedLane, site, fmt::format("mask {:#x} names lanes that have returned", mask));
  }
}

}  // namespace

void Meet(WarpOperation operation, unsigned mask, Site site, void* operand, Combine combine) {
  Run& run = *running.run;
  Thread& thread = run.thread();
  Warp& warp = *thread.warp;
  CheckMask(run, thread, mask, site);

  Meeting* joined = nullptr;
  for (Meeting& meeting : warp.meetings) {
    if (meeting.operation == operation && meeting.mask == mask && SameSite(meeting.site, site)) {
      joined = &meeting;
    } else if ((meeting.arrived & mask) != 0 && (meeting.mask >> thread.lane & 1) != 0) {
      run.Raise(Rule::kLanesApart, site,
                fmt::format("lane {} comes with mask {:#x}, lanes {:#x} wait for it at {} with mask {:#x}", thread.lane,
                            mask, meeting.arrived, Where(meeting.site), meeting.mask));
    }
  }
  if (joined == nullptr) joined = &warp.meetings.emplace_back(Meeting{operation, mask, site});
  joined->arrived |= 1u << thread.lane;
  joined->operands[static_cast<size_t>(thread.lane)] = operand;

  if (joined->arrived != mask) {
    thread.state = Thread::State::kAtWarp;
    thread.site = site;
    run.Yield();
    return;
  }
  const Meeting complete = *joined;
  warp.meetings.erase(warp.meetings.begin() + (joined - warp.meetings.data()));
  combine(run, warp, complete);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (lane != thread.lane && (mask >> lane & 1) != 0) run.Wake(*warp.lanes[static_cast<size_t>(lane)]);
  }
  run.Yield();
}

void MeetAligned(WarpOperation operation, Site site, void* operand, Combine combine) {
  Run& run = *running.run;
  const Warp& warp = *run.thread().warp;
  if (warp.present != kFullWarp || warp.exited != 0) {
    run.Raise(Rule::kPartialWarp, site,
              fmt::format("an .aligned operation with lanes {:#x} only", warp.present & ~warp.exited));
  }
  Meet(operation, kFullWarp, site, operand, combine);
}

void SyncWarp(unsigned mask, Site site) {
  const OutOfKernel executor;
  Meet(WarpOperation::kSync, mask, site, nullptr, [](Run& run, Warp& warp, const Meeting& meeting) {
    if (run.check() != nullptr) run.check()->OnSyncWarp(warp, meeting.mask);
  });
}

uint64_t Shuffle(unsigned mask, uint64_t value, int source, Site site) {
  const OutOfKernel executor;
  struct Operand {
    uint64_t value;
    unsigned source;
    uint64_t result;
  } mine{value, static_cast<unsigned>(source) % kWarpSize, 0};  // the device takes a source modulo the width
  if ((mask >> mine.source & 1) == 0) {
    running.run->Raise(Rule::kShuffleSource, site, fmt::format("lane {} is not in mask {:#x}", mine.source, mask));
  }
  Meet(WarpOperation::kShuffle, mask, site, &mine, [](Run&, Warp&, const Meeting& meeting) {
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      if ((meeting.mask >> lane & 1) == 0) continue;
      auto& operand = *static_cast<Operand*>(meeting.operands[lane]);
      operand.result = static_cast<const Operand*>(meeting.operands[operand.source])->value;
    }
  });
  return mine.result;
}

unsigned Ballot(unsigned mask, bool predicate, Site site) {
  const OutOfKernel executor;
  struct Operand {
    bool predicate;
    unsigned result;
  } mine{predicate, 0};
  Meet(WarpOperation::kBallot, mask, site, &mine, [](Run&, Warp&, const Meeting& meeting) {
    unsigned votes = 0;
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      if ((meeting.mask >> lane & 1) != 0 && static_cast<Operand*>(meeting.operands[lane])->predicate)
        votes |= 1u << lane;
    }
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      if ((meeting.mask >> lane & 1) != 0) static_cast<Operand*>(meeting.operands[lane])->result = votes;
    }
  });
  return mine.result;
}

void Together(void* operand, void (*combine)(void* const* operands), Site site) {
  const OutOfKernel executor;
  struct Operand {
    void* value;
    void (*combine)(void* const*);
  } mine{operand, combine};
  Meet(WarpOperation::kTogether, kFullWarp, site, &mine, [](Run&, Warp&, const Meeting& meeting) {
    void* values[kWarpSize];
    for (size_t lane = 0; lane < kWarpSize; ++lane) values[lane] = static_cast<Operand*>(meeting.operands[lane])->value;
    static_cast<Operand*>(meeting.operands[0])->combine(values);
  });
}

void SyncThreads(Site site) {
  const OutOfKernel executor;
  Run& run = *running.run;
  Thread& thread = run.thread();
  Block& block = *thread.block;
  if (block.done > 0)
    run.Raise(Rule::kExitedLane, site, fmt::format("{} threads of the block have returned", block.done));
  if (block.at_barrier > 0 && !SameSite(site, block.barrier_site)) {
    run.Raise(Rule::kBarrierDivergence, site,
              fmt::format("{} threads wait at {}", block.at_barrier, Where(block.barrier_site)));
  }
  block.barrier_site = site;
  if (++block.at_barrier < block.threads.size()) {
    thread.state = Thread::State::kAtBarrier;
    thread.site = site;
    run.Yield();
    return;
  }
  block.at_barrier = 0;
  ++block.barriers;
  if (run.check() != nullptr) run.check()->OnSyncThreads(block);
  for (Thread& other : block.threads) {
    if (&other != &thread) run.Wake(other);
  }
  run.Yield();
}

void FenceDevice() {
  const OutOfKernel executor;
  if (running.run->check() != nullptr) running.run->check()->OnFence(running.run->thread());
}

// --- who: these neither wait nor fail ---
Dim3 ThreadIndex() { return running.run->thread().position; }
Dim3 BlockIndex() { return running.run->thread().block->index; }
Dim3 BlockSize() { return running.run->call().block; }
Dim3 GridSize() { return running.run->call().grid; }
void* SharedMemory() { return running.run->thread().block->shared.data(); }

}  // namespace inferflux::cuda::executor
