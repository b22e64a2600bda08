#include "collective/shared_memory/shared_memory_collective.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "collective/shared_memory/waiting.h"

namespace inferflux::collective {
namespace {

constexpr const char* kNames[] = {"nothing", "an all_reduce", "an all_gather", "a broadcast"};

std::string Words(const Publication& publication) {
  const char* name = publication.operation < std::size(kNames) ? kNames[publication.operation] : "something unknown";
  return fmt::format("{} of {} bytes", name, publication.bytes);
}

}  // namespace

Result<std::unique_ptr<SharedMemoryCollective>> SharedMemoryCollective::Join(std::shared_ptr<Segment> segment,
                                                                             int32_t rank) {
  if (auto valid = CheckRank(rank, segment->ranks()); !valid) return Forward(valid);
  uint32_t away = SharedRank::kAway;
  SharedRank& own = segment->rank(rank);
  if (!own.state.compare_exchange_strong(away, SharedRank::kJoined)) {
    return Fail(ErrorCode::kInvalidArgument, "rank {} has joined already", rank);
  }
  own.process.store(static_cast<int32_t>(::getpid()));
  return std::unique_ptr<SharedMemoryCollective>(new SharedMemoryCollective(std::move(segment), rank));
}

SharedMemoryCollective::SharedMemoryCollective(std::shared_ptr<Segment> segment, int32_t rank)
    : Collective(rank, segment->ranks()), segment_(std::move(segment)), watch_(size()), health_watch_(size()) {}

SharedMemoryCollective::~SharedMemoryCollective() {
  segment_->rank(rank()).state.store(SharedRank::kLeft);
  WakeAll(segment_->rank(rank()).published);
}

Status SharedMemoryCollective::Wait(SharedCounter& counter, uint32_t target, int32_t of) {
  if (Status failed = segment_->failed(); !failed) return failed;
  Status waited = WaitFor(counter, target, [&]() -> Status {
    if (Status failed = segment_->failed(); !failed) return failed;
    if (Status alive = CheckPeers(watch_); !alive) return alive;
    if (segment_->rank(of).state.load() == SharedRank::kLeft) {
      return Fail(ErrorCode::kUnavailable, "rank {} has left", of);
    }
    return {};
  });
  if (!waited) segment_->SetFailed(waited.error());
  return waited;
}

Status SharedMemoryCollective::Health() {
  if (Status failed = segment_->failed(); !failed) return failed;
  for (int32_t peer = 0; peer < size(); ++peer) {
    if (peer != rank() && segment_->rank(peer).state.load() == SharedRank::kLeft) {
      return Fail(ErrorCode::kUnavailable, "rank {} has left", peer);
    }
  }
  const std::lock_guard lock(health_mutex_);
  return CheckPeers(health_watch_);
}

Status SharedMemoryCollective::CheckPeers(PeerWatch& watch) const {
  for (int32_t peer = 0; peer < size(); ++peer) {
    const SharedRank& shared = segment_->rank(peer);
    if (peer == rank() || shared.state.load() == SharedRank::kLeft) continue;
    if (watch.IsAlive(peer, shared.process.load())) continue;
    if (shared.state.load() == SharedRank::kLeft) continue;  // it left properly, and then ended
    return Fail(ErrorCode::kUnavailable, "rank {} of {} has died (process {})", peer, size(), shared.process.load());
  }
  return {};
}

Result<std::span<std::byte>> SharedMemoryCollective::Begin() {
  ++operation_;
  for (int32_t peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    if (auto read = Wait(segment_->rank(peer).published, operation_ - 1, peer); !read) return Forward(read);
  }
  return segment_->slot(rank(), operation_ % 2);
}

void SharedMemoryCollective::Publish(const Publication& publication) {
  SharedRank& own = segment_->rank(rank());
  own.publications[operation_ % 2] = publication;
  collective::Publish(own.published, operation_);
}

Result<std::span<const std::byte>> SharedMemoryCollective::SlotOf(int32_t peer, const Publication& publication) {
  SharedRank& shared = segment_->rank(peer);
  if (auto written = Wait(shared.published, operation_, peer); !written) return Forward(written);
  const Publication& other = shared.publications[operation_ % 2];
  if (other.operation != publication.operation || other.bytes != publication.bytes || other.root != publication.root) {
    auto failed = Fail(ErrorCode::kInternal, "rank {} does {} where rank {} does {}", peer, Words(other), rank(),
                       Words(publication));
    segment_->SetFailed(failed.value());
    return failed;
  }
  return std::span<const std::byte>(segment_->slot(peer, operation_ % 2).first(publication.bytes));
}

Status SharedMemoryCollective::DoAllReduce(std::span<float> values, Reduction reduction) {
  const size_t most = segment_->slot_bytes() / sizeof(float);
  for (size_t first = 0; first < values.size(); first += most) {
    const auto chunk = values.subspan(first, std::min(most, values.size() - first));
    const Publication publication{kAllReduce, 0, chunk.size_bytes()};
    auto slot = Begin();
    if (!slot) return Forward(slot);
    std::memcpy(slot->data(), chunk.data(), chunk.size_bytes());
    Publish(publication);
    for (int32_t peer = 0; peer < size(); ++peer) {
      const auto data = SlotOf(peer, publication);
      if (!data) return Forward(data);
      const std::span<const float> floats(reinterpret_cast<const float*>(data->data()), chunk.size());
      if (peer == 0) {
        std::copy(floats.begin(), floats.end(), chunk.begin());
      } else {
        Reduce(chunk, floats, reduction);
      }
    }
  }
  return {};
}

Status SharedMemoryCollective::DoAllGather(std::span<const std::byte> own, std::span<std::byte> all) {
  const size_t most = segment_->slot_bytes();
  for (size_t first = 0; first < own.size(); first += most) {
    const auto chunk = own.subspan(first, std::min(most, own.size() - first));
    const Publication publication{kAllGather, 0, chunk.size()};
    auto slot = Begin();
    if (!slot) return Forward(slot);
    std::memcpy(slot->data(), chunk.data(), chunk.size());
    Publish(publication);
    for (int32_t peer = 0; peer < size(); ++peer) {
      const auto data = SlotOf(peer, publication);
      if (!data) return Forward(data);
      std::memcpy(all.data() + static_cast<size_t>(peer) * own.size() + first, data->data(), data->size());
    }
  }
  return {};
}

Status SharedMemoryCollective::DoBroadcast(std::span<std::byte> bytes, int32_t root) {
  const size_t most = segment_->slot_bytes();
  for (size_t first = 0; first < bytes.size(); first += most) {
    const auto chunk = bytes.subspan(first, std::min(most, bytes.size() - first));
    const Publication publication{kBroadcast, root, chunk.size()};
    if (rank() == root) {
      auto slot = Begin();
      if (!slot) return Forward(slot);
      std::memcpy(slot->data(), chunk.data(), chunk.size());
      Publish(publication);
      continue;
    }
    ++operation_;
    const auto data = SlotOf(root, publication);
    if (!data) return Forward(data);
    std::memcpy(chunk.data(), data->data(), chunk.size());
    Publish(publication);
  }
  return {};
}

Status SharedMemoryCollective::DoSend(std::span<const std::byte> bytes, int32_t to) {
  SharedChannel& channel = segment_->channel(rank(), to);
  const auto mailbox = segment_->mailbox(rank(), to);
  for (size_t first = 0; first < bytes.size(); first += mailbox.size()) {
    const auto chunk = bytes.subspan(first, std::min(mailbox.size(), bytes.size() - first));
    const uint32_t sent = channel.sent.value.load();
    if (auto taken = Wait(channel.taken, sent, to); !taken) return taken;
    std::memcpy(mailbox.data(), chunk.data(), chunk.size());
    channel.bytes = chunk.size();
    collective::Publish(channel.sent, sent + 1);
  }
  return {};
}

Status SharedMemoryCollective::DoReceive(std::span<std::byte> bytes, int32_t from) {
  SharedChannel& channel = segment_->channel(from, rank());
  const auto mailbox = segment_->mailbox(from, rank());
  for (size_t first = 0; first < bytes.size(); first += mailbox.size()) {
    const auto chunk = bytes.subspan(first, std::min(mailbox.size(), bytes.size() - first));
    const uint32_t taken = channel.taken.value.load();
    if (auto sent = Wait(channel.sent, taken + 1, from); !sent) return sent;
    if (channel.bytes != chunk.size()) {
      auto failed = Fail(ErrorCode::kInternal, "rank {} sends {} bytes, and rank {} receives {}", from, channel.bytes,
                         rank(), chunk.size());
      segment_->SetFailed(failed.value());
      return failed;
    }
    std::memcpy(chunk.data(), mailbox.data(), chunk.size());
    collective::Publish(channel.taken, taken + 1);
  }
  return {};
}

}  // namespace inferflux::collective
