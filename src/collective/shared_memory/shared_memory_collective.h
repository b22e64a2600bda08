// The ranks of one host, over memory that they share.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "collective/collective.h"
#include "collective/shared_memory/peer_watch.h"
#include "collective/shared_memory/segment.h"

namespace inferflux::collective {

class SharedMemoryCollective final : public Collective {
 public:
  // kInvalidArgument if there is no such rank, or if it has joined already.
  static Result<std::unique_ptr<SharedMemoryCollective>> Join(std::shared_ptr<Segment> segment, int32_t rank);
  ~SharedMemoryCollective() override;  // tells the others, whose later calls fail

  std::string name() const override { return "shared memory"; }
  Status Health() override;

 private:
  enum Operation : uint32_t { kAllReduce = 1, kAllGather, kBroadcast };

  SharedMemoryCollective(std::shared_ptr<Segment> segment, int32_t rank);

  Status DoAllReduce(std::span<float> values, Reduction reduction) override;
  Status DoAllGather(std::span<const std::byte> own, std::span<std::byte> all) override;
  Status DoBroadcast(std::span<std::byte> bytes, int32_t root) override;
  Status DoSend(std::span<const std::byte> bytes, int32_t to) override;
  Status DoReceive(std::span<std::byte> bytes, int32_t from) override;
  void DoAbort(const Error& why) override { segment_->SetFailed(why); }

  // Begins the next operation: returns this rank's slot, once it may be written.
  Result<std::span<std::byte>> Begin();
  void Publish(const Publication& publication);
  // The slot of a rank, once it has published the current operation, which must be the same.
  Result<std::span<const std::byte>> SlotOf(int32_t rank, const Publication& publication);
  Status CheckPeers(PeerWatch& watch) const;
  Status Wait(SharedCounter& counter, uint32_t target, int32_t of);

  std::shared_ptr<Segment> segment_;
  PeerWatch watch_;
  std::mutex health_mutex_;  // guards the next
  PeerWatch health_watch_;
  uint32_t operation_ = 0;
};

}  // namespace inferflux::collective
