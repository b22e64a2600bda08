#include "parity/check_list.h"

#include <algorithm>
#include <utility>

#include "parity/compare.h"
#include "parity/feed.h"

namespace inferflux::parity {
namespace {

using engine::Engine;

// Feeds the oracle's tokens to an empty sequence, in chunks.
Finding CheckCut(Engine& engine, const Oracle& oracle, const Bounds& bounds, size_t chunk) {
  auto sequence = OpenEmpty(engine);
  if (!sequence) return Forward(sequence);
  auto logits = Feed(engine, sequence->id(), oracle.tokens, chunk);
  if (!logits) return Forward(logits);
  return CompareLogits(*logits, oracle, 0, bounds.logits);
}

// The same number of tokens, but other ones than the oracle's.
std::vector<TokenId> Noise(const Oracle& oracle, size_t count) {
  return {oracle.tokens.rbegin(), oracle.tokens.rbegin() + static_cast<std::ptrdiff_t>(count)};
}

// Continues from `at` with the oracle's tokens.
Finding Continue(Engine& engine, engine::SequenceId sequence, const Oracle& oracle, size_t at, const Bounds& bounds) {
  auto logits = Feed(engine, sequence, std::span(oracle.tokens).subspan(at), oracle.tokens.size());
  if (!logits) return Forward(logits);
  return CompareLogits(*logits, oracle, at, bounds.logits);
}

}  // namespace

Finding CheckPrefill(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  return CheckCut(engine, oracle, bounds, oracle.tokens.size());
}

Finding CheckChunks(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  return CheckCut(engine, oracle, bounds, 7);
}

Finding CheckDecode(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  return CheckCut(engine, oracle, bounds, 1);
}

// Three sequences at different positions of one text in the same steps: one begins, one decodes, one is in the middle.
Finding CheckUnifiedBatch(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  struct Walker {
    OwnSequence sequence;
    size_t stride;
    size_t at = 0;
    std::vector<std::vector<float>> logits = {};
  };
  std::vector<Walker> walkers;
  for (const size_t stride : {size_t{17}, size_t{1}, size_t{5}}) {
    auto sequence = OpenEmpty(engine, stride);  // different salts: each sequence computes its own KV
    if (!sequence) return Forward(sequence);
    walkers.push_back({.sequence = std::move(*sequence), .stride = stride});
  }
  while (true) {
    std::vector<engine::BatchItem> items;
    std::vector<Walker*> moving;
    for (Walker& walker : walkers) {
      const size_t count = std::min(walker.stride, oracle.tokens.size() - walker.at);
      if (count == 0) continue;
      items.push_back(ItemOf(walker.sequence.id(), std::span(oracle.tokens).subspan(walker.at, count),
                             static_cast<int32_t>(walker.at)));
      moving.push_back(&walker);
    }
    if (items.empty()) break;
    auto step = RunStep(engine, items);
    if (!step) return Forward(step);
    for (size_t i = 0; i < moving.size(); ++i) {
      moving[i]->at += items[i].tokens.size();
      for (auto& output : step->items[i]) moving[i]->logits.push_back(std::move(output.logits));
    }
  }
  std::string seen;
  for (const Walker& walker : walkers) {
    auto finding = CompareLogits(walker.logits, oracle, 0, bounds.logits);
    if (!finding) return finding;
    seen = *finding;
  }
  return fmt::format("{} sequences, each {}", walkers.size(), seen);
}

Finding CheckPrefixCopy(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  constexpr uint64_t kSalt = 7;
  {
    auto first = OpenEmpty(engine, kSalt);
    if (!first) return Forward(first);
    if (auto fed = Feed(engine, first->id(), oracle.tokens, oracle.tokens.size()); !fed) return Forward(fed);
  }
  if (auto other = engine.Open(oracle.tokens, kSalt + 1); !other) {
    return Forward(other);
  } else if (const OwnSequence closes(engine, other->sequence); other->cached_tokens != 0) {
    return Fail(ErrorCode::kInternal, "another salt was given {} cached tokens", other->cached_tokens);
  }
  auto match = engine.Open(oracle.tokens, kSalt);
  if (!match) return Forward(match);
  const OwnSequence second(engine, match->sequence);
  if (match->cached_tokens < static_cast<int32_t>(oracle.tokens.size()) / 2) {
    return Fail(ErrorCode::kInternal, "of {} tokens that were just computed, {} were found again", oracle.tokens.size(),
                match->cached_tokens);
  }
  auto finding = Continue(engine, second.id(), oracle, static_cast<size_t>(match->cached_tokens), bounds);
  if (!finding) return finding;
  return fmt::format("{} of {} tokens found again, then {}", match->cached_tokens, oracle.tokens.size(), *finding);
}

Finding CheckFork(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  const size_t half = oracle.tokens.size() / 2;
  auto first = OpenEmpty(engine);
  if (!first) return Forward(first);
  if (auto fed = Feed(engine, first->id(), std::span(oracle.tokens).first(half), half); !fed) return Forward(fed);
  auto copied = engine.Fork(first->id());
  if (!copied) return Forward(copied);
  const OwnSequence copy(engine, *copied);
  const auto noise = Noise(oracle, half);
  if (auto fed = Feed(engine, copy.id(), noise, 3); !fed) return Forward(fed);
  return Continue(engine, first->id(), oracle, half, bounds);
}

// Feeds other tokens, removes them, and continues. If the engine reports that it cannot truncate, the text is
// recomputed.
Finding CheckTruncate(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  const size_t half = oracle.tokens.size() / 2;
  auto sequence = OpenEmpty(engine);
  if (!sequence) return Forward(sequence);
  if (auto fed = Feed(engine, sequence->id(), std::span(oracle.tokens).first(half), half); !fed) return Forward(fed);
  if (auto fed = Feed(engine, sequence->id(), Noise(oracle, half), half); !fed) return Forward(fed);
  auto cut = engine.Truncate(sequence->id(), static_cast<int32_t>(half));
  if (cut) return Continue(engine, sequence->id(), oracle, half, bounds);
  if (cut.error().code != ErrorCode::kUnsupported) return Forward(cut);
  auto again = CheckPrefill(engine, oracle, bounds);
  if (!again) return again;
  return "refused, computed again: " + *again;
}

// Leaves the engine while others use it, and is restored whole, then once more as its first half. An engine that cannot
// do this must report so, in its info and on the call.
Finding CheckSaveRestore(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  const std::span<const TokenId> tokens = oracle.tokens;
  const size_t most = tokens.size() * 3 / 4, half = tokens.size() / 2;
  auto first = OpenEmpty(engine);
  if (!first) return Forward(first);
  if (auto fed = Feed(engine, first->id(), tokens.first(most), most); !fed) return Forward(fed);
  auto saved = engine.Save(first->id());
  if (saved.has_value() != engine.info().capabilities.kv_save_restore) {
    return Fail(ErrorCode::kInternal, "it {} KV, but says otherwise", saved ? "saves" : "does not save");
  }
  if (!saved && saved.error().code != ErrorCode::kUnsupported) return Forward(saved);
  if (!saved) return "not supported, and reported as such";
  first->Close();
  auto other = OpenEmpty(engine);
  if (!other) return Forward(other);
  if (auto fed = Feed(engine, other->id(), Noise(oracle, most), most); !fed) return Forward(fed);
  std::string seen;
  for (const size_t length : {most, half}) {
    auto restored = engine.Restore(tokens.first(length), /*salt=*/11, *saved);
    if (!restored && length == half && !engine.info().capabilities.speculative_verification)
      break;  // the engine cannot cut it there
    if (!restored) return Forward(restored);
    const OwnSequence again(engine, *restored);
    auto finding = Continue(engine, again.id(), oracle, length, bounds);
    if (!finding) return finding;
    seen = *finding;
  }
  if (auto refused = engine.Restore(tokens, /*salt=*/11, std::span(*saved).first(saved->size() / 3)); refused) {
    return Fail(ErrorCode::kInternal, "a third of what was saved was restored");
  }
  return fmt::format("{} bytes, then {}", saved->size(), seen);
}

// A wrong step is an error and changes nothing: the right step still works afterwards.
Finding CheckRefusals(Engine& engine, const Oracle& oracle, const Bounds& bounds) {
  auto sequence = OpenEmpty(engine);
  if (!sequence) return Forward(sequence);
  const std::span<const TokenId> tokens = oracle.tokens;
  if (auto fed = Feed(engine, sequence->id(), tokens.first(4), 4); !fed) return Forward(fed);
  auto ahead = ItemOf(sequence->id(), tokens.subspan(4, 2), 5);
  auto unknown = ItemOf(sequence->id(), std::vector<TokenId>{engine.info().vocab_size}, 4);
  for (const auto& wrong : {ahead, unknown}) {
    if (RunStep(engine, {wrong})) return Fail(ErrorCode::kInternal, "an invalid step was run");
  }
  const auto length = engine.Length(sequence->id());
  if (length != 4) return Fail(ErrorCode::kInternal, "a refused step changed the sequence's length");
  auto finding = Continue(engine, sequence->id(), oracle, 4, bounds);
  if (!finding) return finding;
  return "2 wrong steps refused, then " + *finding;
}

}  // namespace inferflux::parity
