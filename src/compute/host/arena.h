// Memory for a step's activations. A step requests the same sizes again and again, so the arena keeps freed pieces by
// size class and reuses them; it returns nothing to the system before its end. Belongs to one thread, the engine's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compute/host/host_buffer.h"
#include "compute/size_class.h"

namespace inferflux::compute::host {

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Uninitialised floats. Every buffer must be destroyed before its arena.
  Buffer Allocate(int64_t rows, int64_t cols);

  // Bytes held, both in use and kept for reuse.
  size_t bytes() const { return bytes_; }

 private:
  friend struct ArenaRelease;
  void Recycle(float* data, size_t bytes);

  std::array<std::vector<float*>, SizeClass::kCount> free_;  // by size class
  size_t bytes_ = 0;
};

}  // namespace inferflux::compute::host
