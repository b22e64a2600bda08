// The memory that the ranks of one host share: what each has published, and two slots for the data of each.
//
// Every rank counts its collective operations. In operation k it writes its data to its slot k % 2 and then publishes
// k. A rank that publishes k has finished operation k - 1, so slot k % 2 may be written again once all have published
// k - 1: two slots are enough, and an operation waits once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "collective/collective.h"

namespace inferflux::collective {

// A number in shared memory that others wait for.
struct alignas(64) SharedCounter {
  std::atomic<uint32_t> value;
  std::atomic<uint32_t> sleepers;
};

struct Publication {  // what a rank does in an operation; ranks that do not do the same fail
  uint32_t operation;
  int32_t root;
  uint64_t bytes;
};

struct alignas(64) SharedRank {
  std::atomic<uint32_t> state;  // kAway, kJoined or kLeft
  std::atomic<int32_t> process;
  SharedCounter published;
  Publication publications[2];

  static constexpr uint32_t kAway = 0, kJoined = 1, kLeft = 2;
};

// From one rank to one other: a message of one slot at a time.
struct alignas(64) SharedChannel {
  SharedCounter sent;
  SharedCounter taken;
  uint64_t bytes;
};

class Segment {
 public:
  static constexpr int64_t kSlotBytes = 256 << 10;

  // `slot_bytes`: at least 64; operations on more take several turns.
  static Result<std::shared_ptr<Segment>> Create(int32_t ranks, int64_t slot_bytes = kSlotBytes);
  // That which another process created and passed on as this descriptor, which stays open. kInvalidArgument if it is of
  // another number of ranks; kDataLoss if it is no segment.
  static Result<std::shared_ptr<Segment>> Open(int descriptor, int32_t ranks);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  int descriptor() const { return descriptor_; }  // closed on exec unless the child clears the flag
  int32_t ranks() const { return ranks_; }
  size_t slot_bytes() const { return slot_bytes_; }

  SharedRank& rank(int32_t rank) const;
  SharedChannel& channel(int32_t from, int32_t to) const;
  std::span<std::byte> slot(int32_t rank, uint32_t parity) const;
  std::span<std::byte> mailbox(int32_t from, int32_t to) const;

  // The first failure, for all ranks. Thread-safe.
  void SetFailed(const Error& why);
  Status failed() const;

 private:
  Segment(int descriptor, void* memory, size_t bytes, int32_t ranks, size_t slot_bytes)
      : descriptor_(descriptor),
        memory_(static_cast<std::byte*>(memory)),
        bytes_(bytes),
        ranks_(ranks),
        slot_bytes_(slot_bytes) {}

  int descriptor_;
  std::byte* memory_;
  size_t bytes_;
  int32_t ranks_;
  size_t slot_bytes_;
};

}  // namespace inferflux::collective
