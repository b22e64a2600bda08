// The functions that -fsanitize=thread makes a compiler call for each access. Checked kernels are compiled with it and
// linked with these in place of ThreadSanitizer's own (GCC: gcc/sanitizer.def; LLVM: tsan_interface.h).
#include <cstddef>
#include <cstdint>

#include "compute/cuda/host_executor/executor.h"

using inferflux::cuda::executor::Access;
using inferflux::cuda::executor::OnInstrumentedAccess;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define INFERFLUX_ENTRY(name, bytes, access, aligned) \
  void __tsan_##name(void* at) { OnInstrumentedAccess(at, bytes, access, aligned, __builtin_return_address(0)); }

INFERFLUX_ENTRY(read1, 1, Access::kRead, true)
INFERFLUX_ENTRY(read2, 2, Access::kRead, true)
INFERFLUX_ENTRY(read4, 4, Access::kRead, true)
INFERFLUX_ENTRY(read8, 8, Access::kRead, true)
INFERFLUX_ENTRY(read16, 16, Access::kRead, true)
INFERFLUX_ENTRY(write1, 1, Access::kWrite, true)
INFERFLUX_ENTRY(write2, 2, Access::kWrite, true)
INFERFLUX_ENTRY(write4, 4, Access::kWrite, true)
INFERFLUX_ENTRY(write8, 8, Access::kWrite, true)
INFERFLUX_ENTRY(write16, 16, Access::kWrite, true)

#undef INFERFLUX_ENTRY

// Accesses of sizes that are no power of two, or of unknown alignment (a memcpy of a few bytes): the device compiler
// splits them as it must.
void __tsan_read_range(void* at, size_t bytes) {
  OnInstrumentedAccess(at, bytes, Access::kRead, false, __builtin_return_address(0));
}
void __tsan_write_range(void* at, size_t bytes) {
  OnInstrumentedAccess(at, bytes, Access::kWrite, false, __builtin_return_address(0));
}

// The host's code in the same sources: reference counts. A kernel uses device/atomic.h; this is a plain write of its.
int __tsan_atomic32_fetch_add(volatile int* at, int value, int order) {
  OnInstrumentedAccess(const_cast<int*>(at), sizeof(int), Access::kWrite, true, __builtin_return_address(0));
  (void)order;
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}

}  // extern "C"
