#include "compute/cuda/host_executor/fiber.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace inferflux::cuda::executor {
namespace {

namespace context = boost::context::detail;

constexpr size_t kGuardBytes = 4096;

void StartSwitch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* stack,
                 [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
#endif
}

void FinishSwitch([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** stack,
                  [[maybe_unused]] size_t* bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, stack, bytes);
#endif
}

}  // namespace

StackPool::~StackPool() {
  for (std::byte* stack : all_) munmap(stack - kGuardBytes, kBytes + kGuardBytes);
}

std::span<std::byte> StackPool::Take() {
  if (free_.empty()) {
    void* memory = mmap(nullptr, kBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return {};
    mprotect(memory, kGuardBytes, PROT_NONE);
    all_.push_back(static_cast<std::byte*>(memory) + kGuardBytes);
    free_.push_back(all_.back());
  }
  std::byte* stack = free_.back();
  free_.pop_back();
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, kBytes);  // what a dropped fiber left
#endif
  return {stack, kBytes};
}

struct Fiber::Entry {
  static void Run(context::transfer_t transfer) {
    auto& fiber = *static_cast<Fiber*>(transfer.data);
    FinishSwitch(nullptr, &fiber.scheduler_stack_, &fiber.scheduler_stack_bytes_);
    fiber.scheduler_ = transfer.fctx;
    fiber.body_(fiber.argument_);
    std::abort();  // a body leaves through Finish
  }
};

void Fiber::Start(std::span<std::byte> stack, Body body, void* argument) {
  stack_ = stack;
  body_ = body;
  argument_ = argument;
  context_ = context::make_fcontext(stack.data() + stack.size(), stack.size(), Entry::Run);
}

void Fiber::Resume() {
  StartSwitch(&scheduler_fake_stack_, stack_.data(), stack_.size());
  const context::transfer_t transfer = context::jump_fcontext(context_, this);
  FinishSwitch(scheduler_fake_stack_, nullptr, nullptr);
  context_ = transfer.fctx;
}

void Fiber::Suspend() {
  StartSwitch(&fake_stack_, scheduler_stack_, scheduler_stack_bytes_);
  const context::transfer_t transfer = context::jump_fcontext(scheduler_, nullptr);
  FinishSwitch(fake_stack_, &scheduler_stack_, &scheduler_stack_bytes_);
  scheduler_ = transfer.fctx;
}

void Fiber::Finish() {
  StartSwitch(nullptr, scheduler_stack_, scheduler_stack_bytes_);
  context::jump_fcontext(scheduler_, nullptr);
  std::abort();  // a finished fiber is never resumed
}

}  // namespace inferflux::cuda::executor
