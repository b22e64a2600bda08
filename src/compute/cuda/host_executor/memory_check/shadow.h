// A cell of state for each byte of a range of memory. Cells begin as zeros, and cost memory once they are touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace inferflux::cuda::executor {

enum class ByteState : uint16_t {
  kUnallocated,
  kAllocated,  // allocated, and not written yet
  kInitialised,
  kInFlight,  // the destination of an asynchronous copy
  kFreed,
};

struct Cell {
  uint32_t writer = 0;       // segment of the last write; 0: none in a kernel
  uint32_t readers[2] = {};  // segments that have read it since, as far as two can tell
  ByteState state = ByteState::kUnallocated;
  bool written_atomically = false;
};
static_assert(sizeof(Cell) == 16);

class Shadow {
 public:
  Shadow() = default;
  explicit Shadow(std::span<std::byte> memory);
  Shadow(Shadow&& other) noexcept;
  Shadow& operator=(Shadow&& other) noexcept;
  ~Shadow();

  bool Covers(const void* at) const {
    return reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(memory_.data()) < memory_.size();
  }
  // Covers(at) has to hold.
  Cell* Of(const void* at) const { return cells_ + (static_cast<const std::byte*>(at) - memory_.data()); }
  // Cells of [at, at + bytes) in this state, with no accesses.
  void Set(const void* at, size_t bytes, ByteState state);

  std::span<std::byte> memory() const { return memory_; }

 private:
  std::span<std::byte> memory_;
  Cell* cells_ = nullptr;
};

}  // namespace inferflux::cuda::executor
