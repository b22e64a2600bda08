// Which accesses of a kernel come before which. A thread's accesses between two of its synchronisations are a segment;
// a cell of shadow memory remembers segments. After C. Flanagan and S. Freund, "FastTrack" (PLDI 2009), with the
// structure of a grid in place of vector clocks over all threads.
#pragma once

#include <array>
#include <cstdint>
#include <map>

namespace inferflux::cuda::executor {

// Of another block (key: its number << 11) everything before a barrier; of a thread (key: | its index + 1) everything
// before a clock.
using OrderedBefore = std::map<uint64_t, uint32_t>;

inline void Merge(OrderedBefore& into, const OrderedBefore& from) {
  for (const auto& [key, clock] : from) {
    uint32_t& known = into[key];
    known = known < clock ? clock : known;
  }
}

constexpr uint64_t BlockKey(uint32_t block) { return uint64_t{block} << 11; }
constexpr uint64_t ThreadKey(uint32_t block, uint32_t thread) { return BlockKey(block) | (thread + 1); }

struct Segment {
  uint32_t block = 0;
  uint32_t thread = 0;
  uint32_t barriers = 0;  // that its block had passed
  uint32_t clock = 0;     // of its thread
};

// What one thread knows.
struct Order {
  uint32_t segment = 0;              // its number; 0: the next access begins one
  uint32_t clock = 1;                // goes up where the thread synchronises with less than its block
  std::array<uint32_t, 32> lanes{};  // of its warp's lanes: everything before this clock
  OrderedBefore released;            // what the last fence put before the atomics that follow
  OrderedBefore observed;            // what atomics have read, and the next fence acquires
  OrderedBefore acquired;
};

}  // namespace inferflux::cuda::executor
