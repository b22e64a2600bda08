// Measures how much memory a test takes from operator new at most, above what it had when the meter began.
// A test program that uses it links allocation_meter.cpp, which replaces operator new.
#pragma once

#include <cstddef>

namespace inferflux::testing {

class AllocationMeter {
 public:
  AllocationMeter();
  // Bytes at the highest point since construction, of all threads together.
  size_t peak() const;

 private:
  size_t start_;
};

}  // namespace inferflux::testing
