#include "compute/cuda/host_executor/run.h"

#include <alloca.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/mix64.h"

namespace inferflux::cuda::executor {
namespace {

constexpr int kPollsUntilFault = 20000;
constexpr uint64_t kMostBlocks = uint64_t{1} << 26;

Dim3 PositionOf(uint64_t number, const Dim3& size) {
  return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
          static_cast<unsigned>(number / (uint64_t{size.x} * size.y))};
}

}  // namespace

thread_local Running running;

uint64_t Run::Random(uint64_t below) {
  random_ += 0x9e3779b97f4a7c15u;
  return Mix64(random_) % below;
}

// Starts a block in a slot. False where there is no memory for it.
bool Run::Begin(unsigned slot, unsigned number) {
  if (!slots_[slot]) slots_[slot] = std::make_unique<Block>();
  Block& block = *slots_[slot];
  const unsigned count = call_.block.x * call_.block.y * call_.block.z;
  block.index = PositionOf(number, call_.grid);
  block.number = number;
  block.slot = slot;
  block.shared = executor_.Slot(slot).first(call_.shared_bytes);
  std::fill(block.shared.begin(), block.shared.end(), std::byte{0xff});  // not a number in every type of float
  block.at_barrier = block.done = block.barriers = 0;
  block.acquired.clear();
  block.warps.assign((count + kWarpSize - 1) / kWarpSize, Warp());
  std::vector<Thread> threads(count);
  for (unsigned i = 0; i < count; ++i) {
    Thread& thread = threads[i];
    thread.block = &block;
    thread.warp = &block.warps[i / kWarpSize];
    thread.index = i;
    thread.lane = static_cast<int>(i % kWarpSize);
    thread.position = PositionOf(i, call_.block);
    std::span<std::byte> stack = block.threads.empty() ? executor_.stacks_.Take() : block.threads[i].fiber.stack();
    if (stack.empty()) return false;
    thread.fiber.Start(stack, Body, this);
  }
  block.threads = std::move(threads);
  for (Thread& thread : block.threads) {
    thread.warp->lanes[static_cast<size_t>(thread.lane)] = &thread;
    thread.warp->present |= 1u << thread.lane;
    ready_.push_back(&thread);
  }
  if (check_ != nullptr) check_->BeginBlock(block);
  return true;
}

Outcome Run::ToTheEnd() {
  const uint64_t blocks = uint64_t{call_.grid.x} * call_.grid.y * call_.grid.z;
  if (blocks > kMostBlocks) {
    return tl::make_unexpected(Fault{.rule = Rule::kExecutorLimit,
                                     .kernel = FunctionName(call_.function),
                                     .site = "launch",
                                     .detail = fmt::format("{} blocks; the executor runs {}", blocks, kMostBlocks)});
  }
  std::vector<unsigned> order(blocks);
  std::iota(order.begin(), order.end(), 0u);
  for (uint64_t i = blocks; i > 1; --i) std::swap(order[i - 1], order[Random(i)]);

  const auto resident = static_cast<unsigned>(std::min<uint64_t>(1 + Random(settings_.resident_blocks), blocks));
  slots_.resize(resident);
  std::vector<std::span<std::byte>> memory;
  for (unsigned slot = 0; slot < resident; ++slot) memory.push_back(executor_.Slot(slot));
  if (check_ != nullptr) check_->BeginLaunch(memory);

  const Running before = running;
  running = {this, false};
  const auto start = [&](unsigned slot, unsigned number) {
    if (memory[slot].empty() || !Begin(slot, number)) {
      fault_ = Fault{Rule::kExecutorLimit, FunctionName(call_.function), {}, {}, "launch", "no memory for stacks"};
    }
  };
  uint64_t begun = 0;
  while (begun < resident && !fault_) start(static_cast<unsigned>(begun), order[begun]), ++begun;
  uint64_t ended = 0;
  while (!fault_ && ended < blocks) {
    thread_ = Next();
    if (thread_ == nullptr) {
      fault_ = Stuck();
      break;
    }
    thread_->fiber.Resume();
    running.in_kernel = false;
    Block& block = *thread_->block;
    if (thread_->state == Thread::State::kReady) {
      ready_.push_back(thread_);
    } else if (block.done == block.threads.size()) {
      if (only_ == &block) only_ = nullptr;
      ++ended;
      if (begun < blocks && !fault_) start(block.slot, order[begun++]);
    }
  }
  running = before;
  for (const auto& block : slots_) {
    if (!block) continue;
    for (const Thread& thread : block->threads) executor_.stacks_.Give(thread.fiber.stack());
  }
  if (fault_) return tl::make_unexpected(std::move(*fault_));
  return {};
}

Thread* Run::Next() {
  if (ready_.empty()) return nullptr;
  size_t at = Random(ready_.size());
  if (only_ != nullptr) {
    for (size_t i = 0; i < ready_.size() && ready_[at]->block != only_; ++i) at = (at + 1) % ready_.size();
  }
  Thread* thread = ready_[at];
  ready_[at] = ready_.back();
  ready_.pop_back();
  return thread;
}

void Run::Body(void* argument) {
  auto& run = *static_cast<Run*>(argument);
  Thread& thread = run.thread();
  // The arguments are on the thread's own stack, as a kernel's parameters are its own.
  const KernelCall& call = run.call();
  const size_t alignment = call.arguments_alignment;
  auto* arguments = static_cast<std::byte*>(alloca(call.arguments.size() + alignment));
  arguments += (alignment - reinterpret_cast<uintptr_t>(arguments) % alignment) % alignment;
  std::memcpy(arguments, call.arguments.data(), call.arguments.size());
  running.in_kernel = true;
  call.invoke(arguments);
  running.in_kernel = false;
  run.OnExit(thread);
  thread.fiber.Finish();
}

void Run::OnExit(Thread& thread) {
  Block& block = *thread.block;
  Warp& warp = *thread.warp;
  for (const Meeting& meeting : warp.meetings) {
    if (meeting.mask >> thread.lane & 1) {
      Raise(Rule::kExitedLane, meeting.site,
            fmt::format("lane {} returned, and mask {:#x} names it", thread.lane, meeting.mask));
    }
  }
  if (block.at_barrier > 0)
    Raise(Rule::kExitedLane, block.barrier_site, "the thread returned, and others wait at a barrier");
  warp.exited |= 1u << thread.lane;
  ++block.done;
  thread.state = Thread::State::kDone;
}

Fault Run::At(const Thread& thread, Rule rule, std::string site, std::string detail) const {
  return {rule, FunctionName(call_.function), thread.block->index, thread.position, std::move(site), std::move(detail)};
}

void Run::Raise(Rule rule, Site site, std::string detail) { Raise({rule, std::move(detail)}, Where(site)); }

void Run::Raise(Violation violation, std::string site) {
  fault_ = At(*thread_, violation.rule, std::move(site), std::move(violation.detail));
  thread_->state = Thread::State::kDone;
  thread_->fiber.Finish();
}

// Deadlock: no thread can continue. Says for one of them what it waits for.
Fault Run::Stuck() const {
  const Thread* at_warp = nullptr;
  const Thread* at_barrier = nullptr;
  for (const auto& block : slots_) {
    for (const Thread& thread : block->threads) {
      if (thread.state == Thread::State::kAtWarp) at_warp = &thread;
      if (thread.state == Thread::State::kAtBarrier) at_barrier = &thread;
    }
  }
  if (at_barrier != nullptr) {
    const Block& block = *at_barrier->block;
    return At(*at_barrier, Rule::kBarrierDivergence, Where(at_barrier->site),
              fmt::format("{} of {} threads came to the barrier", block.at_barrier, block.threads.size()));
  }
  return At(*at_warp, Rule::kLanesApart, Where(at_warp->site), "lanes that the mask names never came to this call");
}

void Run::Yield() { thread_->fiber.Suspend(); }

void Run::Wake(Thread& thread) {
  thread.state = Thread::State::kReady;
  ready_.push_back(&thread);
}

void Run::Check(const void* at, size_t bytes, Access access, Site site) {
  if (check_ == nullptr) return;
  if (auto violation = check_->OnAccess(*thread_, at, bytes, access, true)) Raise(std::move(*violation), Where(site));
}

void Run::Poll(const void* at, uint64_t value, Site site) {
  Thread& thread = *thread_;
  const bool same = thread.polled == at && thread.polled_value == value;
  thread.polls = same ? thread.polls + 1 : 0;
  thread.polled = at;
  thread.polled_value = value;
  if (thread.polls > kPollsUntilFault) {
    Raise(Rule::kWaitsForOtherBlock, site,
          fmt::format("{} was read {} times and no thread of the block changes it", at, thread.polls));
  }
  if (same) {
    only_ = thread.block;
    Yield();
  } else if (only_ == thread.block) {
    only_ = nullptr;
  }
}

}  // namespace inferflux::cuda::executor
