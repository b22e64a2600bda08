#include "compute/host/pages.h"

#include <sys/mman.h>

namespace inferflux::compute::host {

Result<Pages> Pages::Allocate(size_t bytes, const char* what, Size size) {
  Pages out;
  if (bytes == 0) return out;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return Fail(ErrorCode::kResourceExhausted, "no memory for {}: {} MiB asked for", what, bytes >> 20);
  }
#if defined(MADV_HUGEPAGE)
  ::madvise(data, bytes, size == Size::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // a failure is harmless
#endif
  out.data_ = {static_cast<std::byte*>(data), Unmap{bytes}};
  return out;
}

void Pages::Unmap::operator()(std::byte* data) const { ::munmap(data, bytes); }

}  // namespace inferflux::compute::host
