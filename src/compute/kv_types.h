// Element types of a KV store, as types: a runner is ModelRunner<B, KvFp16>, and a pair that no kernel serves does not
// compile. `kBytes` counts one element; scales come on top (one float a token and head, for K and for V).
#pragma once

#include <cstdint>

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

}  // namespace inferflux::compute
