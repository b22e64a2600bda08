// What a backend needs for a model that several ranks share. The operations throw ThrownError when the ranks have
// failed: the step that they belong to fails.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "collective/collective.h"
#include "compute/backend.h"

namespace inferflux::compute {

template <class B>
concept RankCollectives = Backend<B> &&
    requires(typename B::Context& context, typename B::Buffer buffer, typename B::View view,
             std::span<const int64_t> columns, int64_t count, int32_t peer) {
  { context.ranks } -> std::convertible_to<collective::Collective*>;  // null: the context is of one rank
  // The sum over all ranks, the same bits on each.
  { B::SumOverRanks(context, std::move(buffer)) } -> std::same_as<typename B::Buffer>;
  // Every rank's columns next to each other, by rank. columns: how many each has.
  { B::GatherOverRanks(context, view, columns) } -> std::same_as<typename B::Buffer>;
  { B::SendRows(context, view, peer) } -> std::same_as<void>;
  { B::ReceiveRows(context, count, count, peer) } -> std::same_as<typename B::Buffer>;  // (rows, columns, from)
};

// A backend whose devices can exchange data without the host (NCCL). JoinRanks connects the devices of all ranks, which
// call it at the same time, before the first operation. wanted: "auto", "nccl" or "host". Returns what the operations
// go through, for messages; kUnsupported if what was wanted cannot be had.
template <class B>
concept DeviceCollectives = RankCollectives<B> &&
    requires(typename B::Context& context, const std::shared_ptr<collective::Collective>& ranks,
             const std::string& wanted) {
  { B::JoinRanks(context, ranks, wanted) } -> std::same_as<Result<std::string>>;
};

}  // namespace inferflux::compute
