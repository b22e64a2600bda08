#include "serving/backends/backend_factory.h"

#include <algorithm>
#include <utility>

namespace inferflux::serving {

Candidate BackendFactory::Consider(Target target, Provider provider) const {
  Candidate candidate{.target = target, .provider = provider, .skip = Skip::kAbsent};
  for (const EngineEntry& entry : engines_) {
    if (entry.target != target || entry.provider != provider) continue;
    if (entry.make) {
      candidate.engine = &entry;
      candidate.skip = Skip::kNone;
    } else {
      candidate.reason = entry.why_absent;
    }
    return candidate;
  }
  candidate.reason = fmt::format("this build has no {} engine for {}", ProviderName(provider), Traits(target).name);
  return candidate;
}

void BackendFactory::AddByRank(std::optional<Provider> provider, std::vector<Choice>& out) const {
  std::vector<const TargetTraits*> targets;
  for (const TargetTraits& traits : AllTargets()) {
    if (traits.target != Target::kAuto) targets.push_back(&traits);
  }
  std::ranges::stable_sort(targets, std::greater<>(), &TargetTraits::device_rank);
  for (const TargetTraits* traits : targets) out.push_back({{traits->target, provider}, false});
}

// Expands `auto` in the chain and drops repetitions.
Result<std::vector<BackendFactory::Choice>> BackendFactory::Expand(std::string_view chain) const {
  const auto words = ParseChain(chain);
  if (!words) return Forward(words);
  const auto priority = ParseChain(policy_.priority);
  if (!priority) return Forward(priority, "runtime.backend_priority");
  std::vector<Choice> all;
  for (const TargetHint& word : *words) {
    if (word.target != Target::kAuto) {
      all.push_back({word});
      continue;
    }
    for (const TargetHint& preferred : *priority) {
      // "native" is `auto` with a provider: it skips priority entries that name the other provider.
      if (word.provider && preferred.provider && word.provider != preferred.provider) continue;
      const auto provider = preferred.provider ? preferred.provider : word.provider;
      if (preferred.target == Target::kAuto) {
        AddByRank(provider, all);
      } else {
        all.push_back({{preferred.target, provider}});
      }
    }
  }
  if (all.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "the chain '{}' leads to no backend: runtime.backend_priority '{}' names other providers only", chain,
                policy_.priority);
  }
  std::vector<Choice> out;
  for (const Choice& choice : all) {
    if (std::ranges::find(out, choice.hint, &Choice::hint) == out.end()) out.push_back(choice);
  }
  return out;
}

std::vector<Candidate> BackendFactory::CandidatesOf(const Choice& choice) const {
  std::vector<Candidate> out;
  if (choice.hint.provider) {  // the user named the provider: do not replace it with the other one
    out.push_back(Consider(choice.hint.target, *choice.hint.provider));
  } else {
    Candidate native = Consider(choice.hint.target, Provider::kNative);
    Candidate llama = Consider(choice.hint.target, Provider::kLlamaCpp);
    if (!policy_.allow_llama_fallback) {
      llama.engine = nullptr;
      llama.skip = Skip::kForbidden;
      llama.reason = "runtime.backend_exposure.allow_llama_fallback is off";
    }
    if (policy_.prefer_native) {
      out = {std::move(native), std::move(llama)};
    } else {
      out = {std::move(llama), std::move(native)};
    }
  }
  if (choice.named) return out;
  const bool served =
      std::ranges::any_of(out, [](const Candidate& one) { return one.engine && one.engine->automatic; });
  if (served) return out;
  for (Candidate& candidate : out) {
    if (candidate.engine != nullptr) candidate.reason = "auto does not lead to it; name the backend to use it";
    candidate.engine = nullptr;
    candidate.skip = Skip::kUnnamed;
  }
  return out;
}

Result<std::vector<Candidate>> BackendFactory::Candidates(std::string_view chain) const {
  const auto choices = Expand(chain);
  if (!choices) return Forward(choices);
  std::vector<Candidate> out;
  for (const Choice& choice : *choices) {
    for (Candidate& candidate : CandidatesOf(choice)) {
      const bool known = std::ranges::any_of(out, [&](const Candidate& other) {
        return other.target == candidate.target && other.provider == candidate.provider;
      });
      if (!known) out.push_back(std::move(candidate));
    }
  }
  return out;
}

}  // namespace inferflux::serving
