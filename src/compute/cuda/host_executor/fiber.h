// A thread of a kernel on the host: a stack and a place to go on from. Boost.Context switches in a few nanoseconds.
//
// A fiber that has not finished is dropped by dropping its stack; nothing is unwound. Kernels own nothing, and the
// compiler takes __tsan_* functions to throw nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace inferflux::cuda::executor {

// Stacks of one size with a page below each that faults, reused.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  static constexpr size_t kBytes = 64 * 1024;

  // Empty where the system has no more memory.
  std::span<std::byte> Take();
  void Give(std::span<std::byte> stack) { free_.push_back(stack.data()); }

 private:
  std::vector<std::byte*> free_, all_;
};

class Fiber {
 public:
  using Body = void (*)(void* argument);

  // `body` runs at the first Resume and must leave through Finish.
  void Start(std::span<std::byte> stack, Body body, void* argument);

  // From the scheduler: runs until the fiber suspends or finishes.
  void Resume();
  // From the fiber: goes back to the scheduler.
  void Suspend();
  [[noreturn]] void Finish();

  std::span<std::byte> stack() const { return stack_; }

 private:
  struct Entry;

  std::span<std::byte> stack_;
  Body body_ = nullptr;
  void* argument_ = nullptr;
  void* context_ = nullptr;    // where the fiber goes on
  void* scheduler_ = nullptr;  // where its resumer goes on
  // AddressSanitizer's view of the two stacks.
  void* fake_stack_ = nullptr;
  void* scheduler_fake_stack_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  size_t scheduler_stack_bytes_ = 0;
};

}  // namespace inferflux::cuda::executor
