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

// Facts about a kind of device that hold whoever drives it. Policy lives here; nothing else asks "is it CUDA?".
struct TargetTraits {
  Target target;
  std::string_view name;
  bool gpu_accelerated;
  bool flash_attention;  // worth switching on where the provider has a switch
  int device_rank;       // higher is preferred when a request may go to either
};

std::span<const TargetTraits> AllTargets();
const TargetTraits& Traits(Target target);
std::string_view ProviderName(Provider provider);  // "native", "llama_cpp"

// One word of the user's, understood.
struct TargetHint {
  Target target = Target::kAuto;
  std::optional<Provider> provider;  // set by words like native_cuda and llama_cpp_vulkan

  friend bool operator==(const TargetHint&, const TargetHint&) = default;
};

// Case and '-' for '_' do not matter. An unknown word is an error that lists the known ones.
Result<TargetHint> ParseTarget(std::string_view word);

// The canonical spelling: "cuda", "native_cuda".
std::string HintName(const TargetHint& hint);

// A chain of backends to try in order, as a user writes it: words with commas between them ("Metal, cuda,auto"). Empty
// words and repeated ones are dropped; `auto` stays where it is, for BackendFactory to expand. kInvalidArgument where a
// word is unknown, or no word is left.
Result<std::vector<TargetHint>> ParseChain(std::string_view chain);

// The canonical spelling of a chain: "mps,cuda,auto". Two chains that mean the same have the same one.
std::string ChainName(std::span<const TargetHint> chain);

}  // namespace inferflux::serving
