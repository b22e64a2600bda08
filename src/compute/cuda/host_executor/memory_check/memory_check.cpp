#include "compute/cuda/host_executor/memory_check/memory_check.h"

#include <fmt/format.h>

namespace inferflux::cuda::executor {
namespace {

bool Contains(std::span<std::byte> memory, const void* at, size_t bytes) {
  const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(at) - memory.data());
  return offset < memory.size() && bytes <= memory.size() - offset;
}

// What is wrong with a byte in this state, for this access.
std::optional<Violation> JudgeState(const Cell& cell, Access access, size_t bytes) {
  switch (cell.state) {
    case ByteState::kUnallocated:
      return Violation{Rule::kOutOfBounds, fmt::format("an access of {} bytes beyond what was allocated", bytes)};
    case ByteState::kFreed:
      return Violation{Rule::kUseAfterFree, fmt::format("an access of {} bytes of freed memory", bytes)};
    case ByteState::kInFlight:
      return Violation{Rule::kCopyInFlight, "the destination of a cp.async that was not waited for"};
    case ByteState::kAllocated:
      if (access == Access::kWrite) return std::nullopt;
      return Violation{Rule::kUninitialised, fmt::format("a read of {} bytes that were never written", bytes)};
    case ByteState::kInitialised:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void MemoryCheck::BeginLaunch(std::vector<std::span<std::byte>> slots) {
  first_segment_ += static_cast<uint32_t>(segments_.size());
  segments_.clear();
  published_.clear();
  shared_.clear();
  for (const auto& slot : slots) shared_.emplace_back(slot);
}

void MemoryCheck::BeginBlock(Block& block) {
  if (!block.shared.empty()) shared_[block.slot].Set(block.shared.data(), block.shared.size(), ByteState::kAllocated);
}

tl::expected<Cell*, Violation> MemoryCheck::Locate(const Thread& thread, const void* at, size_t bytes) const {
  if (device_.Covers(at)) return device_.Of(at);
  const std::span<std::byte> shared = thread.block->shared;
  if (shared_[thread.block->slot].Covers(at)) {
    if (Contains(shared, at, bytes)) return shared_[thread.block->slot].Of(at);
    return tl::make_unexpected(
        Violation{Rule::kOutOfBounds, fmt::format("{} bytes at offset {} of {} bytes of shared memory", bytes,
                                                  static_cast<const std::byte*>(at) - shared.data(), shared.size())});
  }
  if (Contains(thread.fiber.stack(), at, bytes)) return nullptr;
  return tl::make_unexpected(
      Violation{Rule::kForeignMemory, fmt::format("{} is neither device nor shared memory, nor the thread's own", at)});
}

uint32_t MemoryCheck::SegmentOf(Thread& thread) {
  if (thread.order.segment == 0) {
    segments_.push_back({thread.block->number, thread.index, thread.block->barriers, thread.order.clock});
    thread.order.segment = first_segment_ + static_cast<uint32_t>(segments_.size()) - 1;
  }
  return thread.order.segment;
}

bool MemoryCheck::Before(uint32_t segment, const Thread& thread) const {
  if (segment < first_segment_) return true;
  const Segment& then = segments_[segment - first_segment_];
  const Block& block = *thread.block;
  if (then.block == block.number) {
    if (then.thread == thread.index || then.barriers < block.barriers) return true;
    const bool same_warp = then.thread / kWarpSize == thread.index / kWarpSize;
    if (same_warp && then.clock < thread.order.lanes[then.thread % kWarpSize]) return true;
  }
  const auto knows = [&](const OrderedBefore& known, uint64_t key, uint32_t clock) {
    const auto found = known.find(key);
    return found != known.end() && clock < found->second;
  };
  for (const OrderedBefore* known : {&thread.order.acquired, &block.acquired}) {
    if (known->empty()) continue;
    if (knows(*known, BlockKey(then.block), then.barriers)) return true;
    if (knows(*known, ThreadKey(then.block, then.thread), then.clock)) return true;
  }
  return false;
}

Violation MemoryCheck::Race(uint32_t segment, const Thread& thread, const char* what) const {
  const Segment& then = segments_[segment - first_segment_];
  const bool within = then.block == thread.block->number;
  return {within ? Rule::kRaceInBlock : Rule::kRaceBetweenBlocks,
          fmt::format("{} of thread {} of block {}, with nothing that orders the two", what, then.thread, then.block)};
}

std::optional<Violation> MemoryCheck::OnAccess(Thread& thread, const void* at, size_t bytes, Access access,
                                               bool aligned) {
  const auto located = Locate(thread, at, bytes);
  if (!located) return located.error();
  if (aligned && reinterpret_cast<uintptr_t>(at) % bytes != 0) {
    return Violation{Rule::kMisaligned, fmt::format("an access of {} bytes at {}", bytes, at)};
  }
  if (*located == nullptr) return std::nullopt;  // the thread's own stack
  const uint32_t segment = SegmentOf(thread);
  if (segment > 0xf0000000u) return Violation{Rule::kExecutorLimit, "more than 4 billion segments in one process"};

  for (Cell* cell = *located; cell != *located + bytes; ++cell) {
    if (auto violation = JudgeState(*cell, access, bytes)) return violation;
    const bool reads_only = access == Access::kRead;
    if (cell->writer != segment && cell->writer != 0 && !(access == Access::kAtomic && cell->written_atomically) &&
        !Before(cell->writer, thread)) {
      return Race(cell->writer, thread,
                  reads_only ? "a read of what is written by a write" : "a write that meets a write");
    }
    if (!reads_only) {
      for (const uint32_t reader : cell->readers) {
        if (reader == segment || reader == 0) continue;
        if (!Before(reader, thread)) return Race(reader, thread, "a write that meets a read");
      }
      *cell = {.writer = segment, .state = ByteState::kInitialised, .written_atomically = access == Access::kAtomic};
    } else if (cell->readers[0] != segment && cell->readers[1] != segment) {
      // A reader that later writers are ordered with anyway makes room; else the second is the newest.
      const bool first_is_old = cell->readers[0] == 0 || Before(cell->readers[0], thread);
      cell->readers[first_is_old ? 0 : 1] = segment;
    }
  }
  return std::nullopt;
}

std::optional<Violation> MemoryCheck::OnCopyIssued(Thread& thread, const AsyncCopy& copy) {
  const auto bytes = static_cast<size_t>(copy.bytes);
  if (copy.present) {
    if (auto violation = OnAccess(thread, copy.global, bytes, Access::kRead, true)) return violation;
    if (!device_.Covers(copy.global)) return Violation{Rule::kForeignMemory, "cp.async's source is not global memory"};
  }
  if (!Contains(thread.block->shared, copy.shared, bytes)) {
    return Violation{Rule::kOutOfBounds, "cp.async's destination is not in the block's shared memory"};
  }
  if (auto violation = OnAccess(thread, copy.shared, bytes, Access::kWrite, true)) return violation;
  Cell* cells = shared_[thread.block->slot].Of(copy.shared);
  for (size_t i = 0; i < bytes; ++i) cells[i].state = ByteState::kInFlight;
  return std::nullopt;
}

void MemoryCheck::OnCopyDone(Thread& thread, const AsyncCopy& copy) {
  const uint32_t segment = SegmentOf(thread);
  Cell* cells = shared_[thread.block->slot].Of(copy.shared);
  for (int i = 0; i < copy.bytes; ++i) cells[i] = {.writer = segment, .state = ByteState::kInitialised};
}

void MemoryCheck::OnSyncThreads(Block& block) {
  for (Thread& thread : block.threads) {
    Merge(block.acquired, thread.order.acquired);
    thread.order.segment = 0;
    ++thread.order.clock;
  }
}

void MemoryCheck::OnSyncWarp(Warp& warp, unsigned mask) {
  std::array<uint32_t, kWarpSize> joined{};
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    Order& order = warp.lanes[lane]->order;
    for (int other = 0; other < kWarpSize; ++other) joined[other] = std::max(joined[other], order.lanes[other]);
    joined[lane] = ++order.clock;
    order.segment = 0;
  }
  OrderedBefore acquired;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (mask >> lane & 1) Merge(acquired, warp.lanes[lane]->order.acquired);
  }
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    warp.lanes[lane]->order.lanes = joined;
    if (!acquired.empty()) warp.lanes[lane]->order.acquired = acquired;
  }
}

void MemoryCheck::OnFence(Thread& thread) {
  Order& order = thread.order;
  Merge(order.acquired, order.observed);
  order.observed.clear();
  order.released = order.acquired;
  Merge(order.released, thread.block->acquired);
  order.released[BlockKey(thread.block->number)] = thread.block->barriers;
  order.released[ThreadKey(thread.block->number, thread.index)] = ++order.clock;
  order.segment = 0;
}

void MemoryCheck::OnAtomic(Thread& thread, const void* at) {
  OrderedBefore& published = published_[at];
  Merge(thread.order.observed, published);
  Merge(published, thread.order.released);
}

}  // namespace inferflux::cuda::executor
