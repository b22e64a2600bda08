// Atomic operations: threads are fibers of one host thread, so that plain reads and writes are atomic. Each may let
// other threads run, and each is a point where one thread can learn of another's progress.
#include <bit>
#include <cstring>
#include <type_traits>

#include "compute/cuda/host_executor/run.h"

namespace inferflux::cuda::executor {
namespace {

// at = change(old) where it changes; yields the old value.
template <class T, class Change>
T Atomically(T* at, Site site, const Change& change) {
  const OutOfKernel executor;
  Run& run = *running.run;
  run.Check(at, sizeof(T), Access::kAtomic, site);
  if (run.check() != nullptr) run.check()->OnAtomic(run.thread(), at);
  const T old = *at;
  const T changed = change(old);
  if (std::memcmp(&changed, &old, sizeof(T)) != 0) *at = changed;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  run.Poll(at, std::bit_cast<Bits>(old), site);
  return old;
}

}  // namespace

template <class T>
T AtomicAdd(T* at, T value, Site site) {
  if constexpr (std::is_same_v<T, int>) {  // wraps around
    return Atomically(at, site,
                      [&](T old) { return static_cast<T>(static_cast<unsigned>(old) + static_cast<unsigned>(value)); });
  } else {
    return Atomically(at, site, [&](T old) { return old + value; });
  }
}

template <class T>
T AtomicMax(T* at, T value, Site site) {
  return Atomically(at, site, [&](T old) { return old < value ? value : old; });
}

template <class T>
T AtomicExchange(T* at, T value, Site site) {
  return Atomically(at, site, [&](T) { return value; });
}

template <class T>
T AtomicCompareAndSwap(T* at, T expected, T value, Site site) {
  return Atomically(at, site, [&](T old) { return old == expected ? value : old; });
}

unsigned AtomicLoad(const unsigned* at, Site site) {
  return Atomically(const_cast<unsigned*>(at), site, [](unsigned old) { return old; });
}

template float AtomicAdd(float*, float, Site);
template int AtomicAdd(int*, int, Site);
template unsigned AtomicAdd(unsigned*, unsigned, Site);
template unsigned long long AtomicAdd(unsigned long long*, unsigned long long, Site);
template int AtomicMax(int*, int, Site);
template unsigned AtomicMax(unsigned*, unsigned, Site);
template unsigned long long AtomicMax(unsigned long long*, unsigned long long, Site);
template int AtomicExchange(int*, int, Site);
template unsigned AtomicExchange(unsigned*, unsigned, Site);
template unsigned long long AtomicExchange(unsigned long long*, unsigned long long, Site);
template int AtomicCompareAndSwap(int*, int, int, Site);
template unsigned AtomicCompareAndSwap(unsigned*, unsigned, unsigned, Site);
template unsigned long long AtomicCompareAndSwap(unsigned long long*, unsigned long long, unsigned long long, Site);

}  // namespace inferflux::cuda::executor
