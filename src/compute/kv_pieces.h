// An optional capability: the memory in which a KV block lies, for backends whose KV the host can address. It is how KV
// leaves an engine and comes back. A backend has it by specialising KvPieces beside its KV store.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

namespace inferflux::compute {

// Has `template <class Visit> static void ForEach(KvCache& cache, int32_t block, Visit visit)`, which calls `visit`
// with spans of elements, and of scales: all keys and values of the block, always in the same order.
template <class B, class E>
struct KvPieces {};

template <class B, class E>
concept AddressableKv = requires(typename B::template KvCache<E>& cache,
                                 void (*visit)(std::span<typename E::Storage>)) {
  { KvPieces<B, E>::ForEach(cache, int32_t{}, visit) } -> std::same_as<void>;
};

}  // namespace inferflux::compute
