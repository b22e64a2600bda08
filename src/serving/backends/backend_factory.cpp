#include "serving/backends/backend_factory.h"

#include <algorithm>

namespace inferflux::serving {

Candidate BackendFactory::Consider(Target target, Provider provider) const {
  Candidate candidate{.target = target, .provider = provider};
  for (const EngineEntry& entry : engines_) {
    if (entry.target != target || entry.provider != provider) continue;
    if (entry.make) {
      candidate.engine = &entry;
    } else {
      candidate.reason = entry.why_absent;
    }
    return candidate;
  }
  candidate.reason = fmt::format("this build has no {} engine for {}", ProviderName(provider), Traits(target).name);
  return candidate;
}

Result<std::vector<Candidate>> BackendFactory::Candidates(std::span<const std::string> words) const {
  std::vector<TargetHint> hints;
  for (const std::string& word : words) {
    const auto hint = ParseTarget(word);
    if (!hint) return Forward(hint);
    if (hint->target != Target::kAuto) {
      hints.push_back(*hint);
      continue;
    }
    std::vector<const TargetTraits*> targets;
    for (const TargetTraits& traits : AllTargets()) {
      const bool built = std::ranges::any_of(engines_, [&](const EngineEntry& entry) {
        return entry.target == traits.target && entry.make && entry.automatic;
      });
      if (built) targets.push_back(&traits);
    }
    std::ranges::stable_sort(targets, std::greater<>(), &TargetTraits::device_rank);
    for (const TargetTraits* traits : targets) hints.push_back({traits->target, hint->provider});
  }
  if (hints.empty()) hints.push_back({Target::kCpu, std::nullopt});

  std::vector<Candidate> out;
  const auto add = [&](Candidate candidate) {
    const bool known = std::ranges::any_of(out, [&](const Candidate& other) {
      return other.target == candidate.target && other.provider == candidate.provider;
    });
    if (!known) out.push_back(std::move(candidate));
  };
  for (const TargetHint& hint : hints) {
    if (hint.provider) {  // the user named who is to run it: nobody else does
      add(Consider(hint.target, *hint.provider));
      continue;
    }
    Candidate native = Consider(hint.target, Provider::kNative);
    Candidate llama = Consider(hint.target, Provider::kLlamaCpp);
    if (!policy_.allow_llama_fallback) {
      llama.engine = nullptr;
      llama.reason = "runtime.backend_exposure.allow_llama_fallback is off";
    }
    add(policy_.prefer_native ? native : llama);
    add(policy_.prefer_native ? std::move(llama) : std::move(native));
  }
  return out;
}

}  // namespace inferflux::serving
