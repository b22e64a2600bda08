// Which transport the ranks' devices use. Each decision is made of what all ranks have said, so that all make the same.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collective/message.h"
#include "compute/cuda/backend/device_bytes.h"
#include "compute/cuda/backend/ranks/device_ranks.h"

namespace inferflux::cuda {
namespace {

constexpr size_t kMostText = 160;

struct Text {
  std::array<char, kMostText> bytes{};

  explicit Text(std::string_view text = {}) { std::ranges::copy(text.substr(0, kMostText - 1), bytes.begin()); }
  std::string str() const { return bytes.data(); }
};

// What a rank says of itself.
struct Offer {
  bool has = false;  // NCCL
  Text why;          // if not
  Text device;       // its UUID; empty: unknown, and taken for a device of its own
};

// Why these ranks cannot use NCCL; empty: they can.
std::string Obstacle(std::span<const Offer> offers) {
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    if (!offers[rank].has) return fmt::format("rank {}: {}", rank, offers[rank].why.str());
  }
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    for (size_t other = 0; other < rank; ++other) {
      const std::string device = offers[rank].device.str();
      if (device.empty() || device != offers[other].device.str()) continue;
      return fmt::format("ranks {} and {} share the device {}, which NCCL refuses", other, rank, device);
    }
  }
  return {};
}

Result<NcclId> ShareId(collective::Collective& ranks, Nccl& nccl) {
  NcclId id;
  Status made;
  if (ranks.rank() == 0) {
    if (auto fresh = nccl.NewId()) {
      id = *fresh;
    } else {
      made = Forward(fresh);
    }
  }
  if (auto all = Agree(ranks, made); !all) return Forward(all);
  if (auto sent = ranks.Broadcast(std::as_writable_bytes(std::span(id.bytes)), 0); !sent) return Forward(sent);
  return id;
}

// A sum, a maximum and a broadcast, whose results tell whether all ranks are there.
Status TryOut(DeviceRanks& devices, int32_t rank, Runtime& runtime, Stream stream) {
  const auto size = static_cast<float>(devices.size());
  auto memory = DeviceBytes::Allocate(runtime, 3 * sizeof(float));
  if (!memory) return Forward(memory);
  const auto own = static_cast<float>(rank);
  const std::array<float, 3> given{own + 1.0f, own, rank == 0 ? 7.0f : 0.0f};
  const std::array<float, 3> right{size * (size + 1.0f) / 2.0f, size - 1.0f, 7.0f};
  std::array<float, 3> got{};
  auto* at = memory->as<float>();
  NcclCommunicator& nccl = devices.communicator();
  Status done = runtime.CopyToDevice(at, given.data(), sizeof(given), stream);
  if (done) done = nccl.AllReduce(at, 1, collective::Reduction::kSum, stream);
  if (done) done = nccl.AllReduce(at + 1, 1, collective::Reduction::kMax, stream);
  if (done) done = nccl.Broadcast(at + 2, 1, 0, stream);
  if (done) done = runtime.CopyToHost(got.data(), at, sizeof(got), stream);
  const auto waited = runtime.Synchronize(stream);  // in any case: the arrays are this function's
  if (done) done = waited;
  if (done) done = devices.Check();
  if (!done || got == right) return done;
  return Fail(ErrorCode::kInternal, "NCCL: sums over {} ranks are wrong: {}, {} and {} where {}, {} and {} are right",
              devices.size(), got[0], got[1], got[2], right[0], right[1], right[2]);
}

Result<std::unique_ptr<DeviceRanks>> Connect(const std::shared_ptr<collective::Collective>& ranks, Nccl& nccl,
                                             Runtime& runtime, Stream stream) {
  const auto id = ShareId(*ranks, nccl);
  if (!id) return Forward(id);
  auto joined = nccl.Join(*id, ranks->size(), ranks->rank(), [&] { return ranks->Health(); });
  Status fits = joined.map([](const auto&) {});
  if (joined) {
    const auto size = (*joined)->Size();
    if (!size) {
      fits = Forward(size);
    } else if (*size != ranks->size()) {
      fits = Fail(ErrorCode::kInternal, "NCCL: {} ranks, and the model has {}", *size, ranks->size());
    }
  }
  const Status all = Agree(*ranks, fits);
  if (!all) {
    if (joined) (*joined)->Abort();  // others may be in it no more
    return Forward(all);
  }
  auto devices = std::make_unique<DeviceRanks>(ranks, std::move(*joined));
  if (auto works = Agree(*ranks, TryOut(*devices, ranks->rank(), runtime, stream)); !works) {
    devices->communicator().Abort();
    return Forward(works);
  }
  return devices;
}

}  // namespace

Result<RankLink> LinkRanks(const std::shared_ptr<collective::Collective>& ranks, Runtime& runtime, Stream stream,
                           const NcclOpener& open, const std::string& wanted) {
  if (wanted != "auto" && wanted != "nccl" && wanted != "host") {
    return Fail(ErrorCode::kInvalidArgument, "collectives: '{}' is not known; there are auto, nccl and host", wanted);
  }
  if (ranks == nullptr || ranks->size() == 1 || wanted == "host") return RankLink{};
  const auto over_host = [&](std::string why) -> Result<RankLink> {
    if (wanted == "auto") return RankLink{.devices = nullptr, .nccl = {}, .why = std::move(why)};
    return Fail(ErrorCode::kUnsupported, "collectives: nccl cannot be had ({}): choose auto or host", why);
  };
  auto nccl = open();
  const auto properties = runtime.Properties();
  if (!properties) return Forward(properties);
  const Offer own{
      .has = nccl.has_value(), .why = Text(nccl ? "" : nccl.error().message), .device = Text(properties->uuid)};
  std::vector<Offer> offers(static_cast<size_t>(ranks->size()));
  if (auto told = ranks->AllGather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(offers)));
      !told) {
    return Forward(told);
  }
  if (auto why = Obstacle(offers); !why.empty()) return over_host(std::move(why));
  auto devices = Connect(ranks, **nccl, runtime, stream);
  if (devices) return RankLink{.devices = std::move(*devices), .nccl = (*nccl)->version(), .why = {}};
  return over_host(devices.error().message);
}

}  // namespace inferflux::cuda
