#include "compute/cuda/host_executor/memory_check/shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace inferflux::cuda::executor {

Shadow::Shadow(std::span<std::byte> memory) : memory_(memory) {
  void* cells = mmap(nullptr, memory.size() * sizeof(Cell), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (cells == MAP_FAILED) {
    memory_ = {};
  } else {
    cells_ = static_cast<Cell*>(cells);
  }
}

Shadow::Shadow(Shadow&& other) noexcept
    : memory_(std::exchange(other.memory_, {})), cells_(std::exchange(other.cells_, nullptr)) {}

Shadow& Shadow::operator=(Shadow&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(cells_, other.cells_);
  return *this;
}

Shadow::~Shadow() {
  if (cells_ != nullptr) munmap(cells_, memory_.size() * sizeof(Cell));
}

void Shadow::Set(const void* at, size_t bytes, ByteState state) { std::fill_n(Of(at), bytes, Cell{.state = state}); }

}  // namespace inferflux::cuda::executor
