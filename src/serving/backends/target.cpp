#include "serving/backends/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace inferflux::serving {
namespace {

constexpr std::array kTargets = {
    // target, name, gpu, flash attention, rank
    TargetTraits{Target::kCpu, "cpu", false, true, 10},
    TargetTraits{Target::kCuda, "cuda", true, true, 90},
    TargetTraits{Target::kVulkan, "vulkan", true, true, 50},
    TargetTraits{Target::kRocm, "rocm", true, true, 80},
    TargetTraits{Target::kMps, "mps", true, true, 70},
    TargetTraits{Target::kMlx, "mlx", true, true, 75},
    TargetTraits{Target::kOpencl, "opencl", true, false, 30},
    TargetTraits{Target::kReference, "reference", false, false, 0},
    TargetTraits{Target::kAuto, "auto", false, false, 0},
};

struct Alias {
  std::string_view word;
  std::string_view name;
};
constexpr std::array kAliases = {
    Alias{"metal", "mps"}, Alias{"nvidia", "cuda"}, Alias{"hip", "rocm"}, Alias{"amd", "rocm"}, Alias{"any", "auto"},
};

constexpr std::string_view kNativePrefix = "native_";
constexpr std::string_view kLlamaPrefix = "llama_cpp_";

std::string Lower(std::string_view word) {
  std::string out(word);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return c == '-' ? '_' : std::tolower(c); });
  const auto blank = " \t\r\n";
  const size_t first = out.find_first_not_of(blank);
  return first == std::string::npos ? "" : out.substr(first, out.find_last_not_of(blank) - first + 1);
}

std::optional<Target> FindTarget(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (alias.word == name) name = alias.name;
  }
  for (const TargetTraits& traits : kTargets) {
    if (traits.name == name) return traits.target;
  }
  return std::nullopt;
}

std::string KnownWords() {
  std::vector<std::string_view> known;
  for (const TargetTraits& traits : kTargets) known.push_back(traits.name);
  return fmt::format("{}, each also with native_ or llama_cpp_ in front", fmt::join(known, ", "));
}

}  // namespace

std::span<const TargetTraits> AllTargets() { return kTargets; }

const TargetTraits& Traits(Target target) { return *std::ranges::find(kTargets, target, &TargetTraits::target); }

std::string_view ProviderName(Provider provider) { return provider == Provider::kNative ? "native" : "llama_cpp"; }

Result<TargetHint> ParseTarget(std::string_view word) {
  const std::string lower = Lower(word);
  std::string_view name = lower;
  TargetHint hint;
  if (name == "llama_cpp" || name == "native") {  // a provider alone: any device
    hint.provider = name == "native" ? Provider::kNative : Provider::kLlamaCpp;
    return hint;
  }
  if (name.starts_with(kNativePrefix)) {
    hint.provider = Provider::kNative;
    name.remove_prefix(kNativePrefix.size());
  } else if (name.starts_with(kLlamaPrefix)) {
    hint.provider = Provider::kLlamaCpp;
    name.remove_prefix(kLlamaPrefix.size());
  }
  const auto target = FindTarget(name);
  if (!target) {
    return Fail(ErrorCode::kInvalidArgument, "unknown backend '{}'; known are {}", word, KnownWords());
  }
  hint.target = *target;
  return hint;
}

std::string HintName(const TargetHint& hint) {
  const std::string_view name = Traits(hint.target).name;
  return hint.provider ? fmt::format("{}_{}", ProviderName(*hint.provider), name) : std::string(name);
}

Result<std::vector<TargetHint>> ParseChain(std::string_view chain) {
  std::vector<TargetHint> out;
  for (size_t begin = 0; begin <= chain.size();) {
    const size_t end = std::min(chain.find(',', begin), chain.size());
    const std::string_view word = chain.substr(begin, end - begin);
    begin = end + 1;
    if (Lower(word).empty()) continue;
    const auto hint = ParseTarget(word);
    if (!hint) return Forward(hint);
    if (std::ranges::find(out, *hint) == out.end()) out.push_back(*hint);
  }
  if (out.empty()) return Fail(ErrorCode::kInvalidArgument, "'{}' names no backend; known are {}", chain, KnownWords());
  return out;
}

std::string ChainName(std::span<const TargetHint> chain) {
  std::vector<std::string> names;
  std::ranges::transform(chain, std::back_inserter(names), HintName);
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace inferflux::serving
