// cp.async. A copy is made as late as it may be: when its thread waits for it.
#include <fmt/format.h>

#include <cstring>

#include "compute/cuda/host_executor/run.h"

namespace inferflux::cuda::executor {
namespace {

void Complete(Run& run, Thread& thread, const AsyncCopy& copy) {
  if (copy.present) {
    std::memcpy(copy.shared, copy.global, static_cast<size_t>(copy.bytes));
  } else {
    std::memset(copy.shared, 0, static_cast<size_t>(copy.bytes));
  }
  if (run.check() != nullptr) run.check()->OnCopyDone(thread, copy);
}

}  // namespace

void CopyAsync(void* shared, const void* global, int bytes, bool present, Site site) {
  const OutOfKernel executor;
  Run& run = *running.run;
  Thread& thread = run.thread();
  const AsyncCopy copy{static_cast<std::byte*>(shared), static_cast<const std::byte*>(global), bytes, present, site};
  if (run.check() != nullptr) {
    if (auto violation = run.check()->OnCopyIssued(thread, copy)) run.Raise(std::move(*violation), Where(site));
  }
  std::memset(shared, 0xff, static_cast<size_t>(bytes));
  thread.open_copies.push_back(copy);
}

void CommitCopies() {
  const OutOfKernel executor;
  Thread& thread = running.run->thread();
  thread.copies.push_back(std::move(thread.open_copies));
  thread.open_copies.clear();
}

void WaitCopies(int pending) {
  const OutOfKernel executor;
  Run& run = *running.run;
  Thread& thread = run.thread();
  while (thread.copies.size() > static_cast<size_t>(pending)) {
    for (const AsyncCopy& copy : thread.copies.front()) Complete(run, thread, copy);
    thread.copies.erase(thread.copies.begin());
  }
}

}  // namespace inferflux::cuda::executor
