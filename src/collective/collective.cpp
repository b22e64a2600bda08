#include "collective/collective.h"

#include <algorithm>
#include <cstring>

namespace inferflux::collective {

Status CheckRank(int32_t rank, int32_t size) {
  if (size < 1 || size > kMaxRanks) {
    return Fail(ErrorCode::kInvalidArgument, "{} ranks: there may be 1 to {}", size, kMaxRanks);
  }
  if (rank < 0 || rank >= size) {
    return Fail(ErrorCode::kInvalidArgument, "rank {} of {}: they are numbered from 0 to {}", rank, size, size - 1);
  }
  return {};
}

Status Collective::Kept(Status done) {
  if (!done) failed_ = done;
  return done;
}

Status Collective::CheckPeer(int32_t peer) const {
  if (peer >= 0 && peer < size_ && peer != rank_) return {};
  return Fail(ErrorCode::kInvalidArgument, "rank {} cannot exchange with rank {} of {}", rank_, peer, size_);
}

Status Collective::AllReduce(std::span<float> values, Reduction reduction) {
  if (!failed_) return failed_;
  if (size_ == 1 || values.empty()) return {};
  return Kept(DoAllReduce(values, reduction));
}

Status Collective::AllGather(std::span<const std::byte> own, std::span<std::byte> all) {
  if (!failed_) return failed_;
  if (all.size() / static_cast<size_t>(size_) != own.size() || all.size() % static_cast<size_t>(size_) != 0) {
    return Fail(ErrorCode::kInvalidArgument, "{} bytes of each of {} ranks do not fill {}", own.size(), size_,
                all.size());
  }
  if (own.empty()) return {};
  if (size_ == 1) {
    std::memmove(all.data(), own.data(), own.size());
    return {};
  }
  return Kept(DoAllGather(own, all));
}

Status Collective::Broadcast(std::span<std::byte> bytes, int32_t root) {
  if (!failed_) return failed_;
  if (auto valid = CheckRank(root, size_); !valid) return valid;
  if (size_ == 1 || bytes.empty()) return {};
  return Kept(DoBroadcast(bytes, root));
}

Status Collective::Barrier() {
  std::byte own{};
  std::byte all[kMaxRanks];
  return AllGather(std::span(&own, 1), std::span(all).first(static_cast<size_t>(size_)));
}

Status Collective::Send(std::span<const std::byte> bytes, int32_t to) {
  if (!failed_) return failed_;
  if (auto valid = CheckPeer(to); !valid) return valid;
  return bytes.empty() ? Status() : Kept(DoSend(bytes, to));
}

Status Collective::Receive(std::span<std::byte> bytes, int32_t from) {
  if (!failed_) return failed_;
  if (auto valid = CheckPeer(from); !valid) return valid;
  return bytes.empty() ? Status() : Kept(DoReceive(bytes, from));
}

void Collective::Abort(const Error& why) {
  if (!failed_) return;
  failed_ = tl::make_unexpected(why);
  if (size_ > 1) DoAbort(why);
}

void Reduce(std::span<float> values, std::span<const float> more, Reduction reduction) {
  if (reduction == Reduction::kSum) {
    for (size_t i = 0; i < values.size(); ++i) values[i] += more[i];
  } else {
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], more[i]);
  }
}

}  // namespace inferflux::collective
