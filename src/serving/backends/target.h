// What a user may request: a kind of device, and optionally the provider that runs it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inferflux::serving {

enum class Target { kCpu, kCuda, kVulkan, kRocm, kMps, kMlx, kOpencl, kReference, kAuto };
enum class Provider { kNative, kLlamaCpp };

// Facts about a kind of device that are independent of its provider. All device policy is here; no other code tests for
// a specific device such as CUDA.
struct TargetTraits {
  Target target;
  std::string_view name;
  bool gpu_accelerated;
  bool flash_attention;  // recommended if the provider has a switch for it
  int device_rank;       // higher is preferred when a request may go to either
};

std::span<const TargetTraits> AllTargets();
const TargetTraits& Traits(Target target);
std::string_view ProviderName(Provider provider);  // "native", "llama_cpp"

// One parsed word of a user's chain.
struct TargetHint {
  Target target = Target::kAuto;
  std::optional<Provider> provider;  // set by words like native_cuda and llama_cpp_vulkan

  friend bool operator==(const TargetHint&, const TargetHint&) = default;
};

// Ignores case, and accepts '-' for '_'. An unknown word is an error that lists the known ones.
Result<TargetHint> ParseTarget(std::string_view word);

// The canonical spelling: "cuda", "native_cuda".
std::string HintName(const TargetHint& hint);

// Parses a user's chain of backends, which are tried in order: comma-separated words ("Metal, cuda,auto"). Drops empty
// and repeated words. Keeps `auto` in its place; BackendFactory expands it. kInvalidArgument if a word is unknown or no
// word is left.
Result<std::vector<TargetHint>> ParseChain(std::string_view chain);

// The canonical spelling of a chain: "mps,cuda,auto". Equivalent chains have the same spelling.
std::string ChainName(std::span<const TargetHint> chain);

}  // namespace inferflux::serving
