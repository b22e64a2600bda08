// Element types of a KV store, as C++ types: a runner is ModelRunner<B, KvFp16>, and a pair without kernels does not
// compile. `kBytes` is the size of one element; a kScaled type adds one float per token and head, for K and for V.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "base/half.h"

namespace inferflux::compute {

struct KvFp32 {
  using Storage = float;
  static constexpr const char* kName = "fp32";
  static constexpr int kBytes = 4;
  static constexpr bool kScaled = false;
};
struct KvFp16 {
  using Storage = Fp16;
  static constexpr const char* kName = "fp16";
  static constexpr int kBytes = 2;
  static constexpr bool kScaled = false;
};
struct KvBf16 {
  using Storage = Bf16;
  static constexpr const char* kName = "bf16";
  static constexpr int kBytes = 2;
  static constexpr bool kScaled = false;
};
// A token's values in one head become round(x * 127 / max|x|).
struct KvInt8 {
  using Storage = int8_t;
  static constexpr const char* kName = "int8";
  static constexpr int kBytes = 1;
  static constexpr bool kScaled = true;
};
struct KvFp8 {
  using Storage = Fp8;
  static constexpr const char* kName = "fp8";
  static constexpr int kBytes = 1;
  static constexpr bool kScaled = false;
};

// The same by stored type: kernels do not need more.
template <class Storage>
inline constexpr bool kStoredWithScales = std::is_same_v<Storage, KvInt8::Storage>;

// f(KvFp32{}), f(KvFp16{}), ...
template <class F>
void ForEachKvType(const F& f) {
  std::apply([&](auto... type) { (f(type), ...); }, std::tuple<KvFp32, KvFp16, KvBf16, KvInt8, KvFp8>());
}

// Bytes of one token's keys, or values, in one head.
template <class E>
constexpr int64_t KvHeadBytes(int32_t head_dim) {
  return int64_t{head_dim} * E::kBytes + (E::kScaled ? int64_t{sizeof(float)} : 0);
}

}  // namespace inferflux::compute
