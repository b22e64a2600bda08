// What the ranks of one model do together. A rank is a process (in tests also a thread) that holds a part of the model;
// all ranks make the same calls in the same order, with the same sizes. The operations are those of MPI.
//
// A sum has one order, rank 0 first, so all ranks get the same bits. The first failure is final: it is returned by
// every later call, and reaches the calls of the other ranks within a second. One thread at a time may use a rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace inferflux::collective {

inline constexpr int32_t kMaxRanks = 64;

enum class Reduction { kSum, kMax };

// kInvalidArgument unless 0 <= rank < size <= kMaxRanks.
Status CheckRank(int32_t rank, int32_t size);

class Collective {
 public:
  virtual ~Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  int32_t rank() const { return rank_; }
  int32_t size() const { return size_; }  // 1: every operation is the identity

  // The name of the transport, for messages: "shared memory".
  virtual std::string name() const = 0;

  // `values`: replaced by their sum or maximum over all ranks, element by element.
  Status AllReduce(std::span<float> values, Reduction reduction);
  // `all`: receives every rank's `own`, by rank: [size * own.size()].
  Status AllGather(std::span<const std::byte> own, std::span<std::byte> all);
  // `bytes`: read on the rank `root`, written on the others.
  Status Broadcast(std::span<std::byte> bytes, int32_t root);
  // Returns when all ranks have called it.
  Status Barrier();

  // From one rank to another; the others do not take part.
  Status Send(std::span<const std::byte> bytes, int32_t to);
  Status Receive(std::span<std::byte> bytes, int32_t from);

  // Returns an error if another rank is lost or has left. Does not block. Any thread may call it.
  virtual Status Health() { return {}; }

  // This rank gives up: its calls and those of the others fail with this reason.
  void Abort(const Error& why);

 protected:
  Collective(int32_t rank, int32_t size) : rank_(rank), size_(size) {}

 private:
  virtual Status DoAllReduce(std::span<float> values, Reduction reduction) = 0;
  virtual Status DoAllGather(std::span<const std::byte> own, std::span<std::byte> all) = 0;
  virtual Status DoBroadcast(std::span<std::byte> bytes, int32_t root) = 0;
  virtual Status DoSend(std::span<const std::byte> bytes, int32_t to) = 0;
  virtual Status DoReceive(std::span<std::byte> bytes, int32_t from) = 0;
  virtual void DoAbort(const Error& why) = 0;

  Status Kept(Status done);
  Status CheckPeer(int32_t peer) const;

  int32_t rank_;
  int32_t size_;
  Status failed_;
};

// values[i] = values[i] + more[i], or the larger of the two.
void Reduce(std::span<float> values, std::span<const float> more, Reduction reduction);

}  // namespace inferflux::collective
