// KV blocks as bytes: one part of equal size per block, in the backend's own order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/device_features.h"

namespace inferflux::engine {

template <class B, class Kv>
requires compute::AddressableKv<B, Kv> std::vector<std::byte> SaveBlocks(typename B::template KvCache<Kv>& cache,
                                                                         std::span<const int32_t> blocks) {
  std::vector<std::byte> out;
  for (const int32_t block : blocks) {
    B::template VisitKvBlock<Kv>(
        cache, block, [&](std::span<std::byte> piece) { out.insert(out.end(), piece.begin(), piece.end()); });
  }
  return out;
}

// Fills these blocks from the first parts of `saved`, which may have more. kDataLoss if its size is wrong.
template <class B, class Kv>
requires compute::AddressableKv<B, Kv> Status LoadBlocks(typename B::template KvCache<Kv>& cache,
                                                         std::span<const int32_t> blocks,
                                                         std::span<const std::byte> saved) {
  if (blocks.empty()) return {};
  size_t part = 0;
  B::template VisitKvBlock<Kv>(cache, blocks[0], [&](std::span<std::byte> piece) { part += piece.size(); });
  // A model without attention has no KV: part is 0.
  const bool fits = part == 0 ? saved.empty() : saved.size() % part == 0 && saved.size() / part >= blocks.size();
  if (!fits) {
    return Fail(ErrorCode::kDataLoss, "{} bytes of saved KV for {} blocks of {}", saved.size(), blocks.size(), part);
  }
  for (const int32_t block : blocks) {
    B::template VisitKvBlock<Kv>(cache, block, [&](std::span<std::byte> piece) {
      if (!piece.empty()) std::memcpy(piece.data(), saved.data(), piece.size());
      saved = saved.subspan(piece.size());
    });
  }
  return {};
}

}  // namespace inferflux::engine
