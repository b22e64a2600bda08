// Large memory directly from the system: zeroed, page-aligned, and committed only when touched.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"

namespace inferflux::compute::host {

class Pages {
 public:
  enum class Size {
    kHuge,   // fewer TLB misses, if the system has huge pages; for memory that is filled at once
    kSmall,  // no thread ever waits while 2 MiB are cleared for the few bytes that it writes
  };

  Pages() = default;

  // `what` names the allocation in the error, kResourceExhausted.
  static Result<Pages> Allocate(size_t bytes, const char* what, Size size = Size::kHuge);

  std::byte* data() const { return data_.get(); }
  size_t size() const { return data_.get_deleter().bytes; }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Unmap> data_;
};

}  // namespace inferflux::compute::host
