#include "text/grammar/tokens/token_grammar.h"

#include <algorithm>
#include <utility>

namespace inferflux::text {
namespace {

constexpr size_t kMaxSeenFrames = 6;  // rules that a part examines
constexpr size_t kMaxExits = 1024;    // of a part
constexpr int64_t kFewShare = 64;     // a part with less than this share of the vocabulary is a list

}  // namespace

Result<TokenMask> TokenGrammar::Mask(Pushdown& run, ConfigId config, bool drops_space) const {
  TokenMask mask(tokenizer().size());
  TokenWalk walk(vocabulary_->trie());
  const std::vector<StackId> tops(run.Arrived(config).begin(), run.Arrived(config).end());
  for (const StackId top : tops) {
    if (auto added = AddPart(run, top, walk, mask); !added) return Forward(added);
  }
  if (drops_space) {
    if (auto dropped = DropSpace(run, config, walk, mask); !dropped) return Forward(dropped);
  }
  if (run.CanEnd(config)) {
    for (const TokenId id : tokenizer().end_of_generation()) mask.Allow(id);
  }
  if (std::ranges::all_of(mask.words(), [](uint64_t word) { return word == 0; })) {
    return Fail(ErrorCode::kInvalidArgument,
                "the grammar leaves no token: the model's vocabulary cannot spell what must follow");
  }
  return mask;
}

void TokenGrammar::Prepare() const {
  constexpr int kManyBytes = 64;
  constexpr int kMostStates = 32;
  TokenWalk walk(vocabulary_->trie());
  int prepared = 0;
  for (CompiledGrammar::State state = 0; state < grammar_->states() && prepared < kMostStates; ++state) {
    if (grammar_->PlainRuleOf(state) == nullptr) continue;
    int bytes = 0;
    for (int byte = 0; byte < 256; ++byte) {
      bytes +=
          grammar_->Next(state, grammar_->ClassOf(static_cast<uint8_t>(byte))) != CompiledGrammar::kNoState ? 1 : 0;
    }
    if (bytes < kManyBytes) continue;
    ++prepared;
    if (!PartOf({state, 0, 0}, walk)) return;  // the request will get the error
  }
}

// Examines the innermost rule, and those below it as long as tokens often continue after its end.
Status TokenGrammar::AddPart(Pushdown& run, StackId top, TokenWalk& walk, TokenMask& mask) const {
  std::vector<uint32_t> key;  // frames from the innermost: state and count; finally whether the bottom is below them
  StackId below = top;
  for (size_t frames = 0; frames < kMaxSeenFrames && below != Pushdown::kBottom; ++frames) {
    const Pushdown::Frame frame = run.frame(below);
    below = frame.below;
    key.push_back(frame.state);
    key.push_back(SameCount(frame));
    // Tokens often continue after the end of a counted rule: only with the rule below is the part worth keeping.
    if (frames == 0 && grammar_->CounterOf(frame.state) != nullptr && below != Pushdown::kBottom) continue;
    std::vector<uint32_t> whole_key = key;
    whole_key.push_back(below == Pushdown::kBottom ? 1 : 0);
    auto part = PartOf(whole_key, walk);
    if (!part) return Forward(part);
    if ((*part)->too_many_exits) continue;
    if ((*part)->many) mask.Add(*(*part)->many);
    for (const TokenId id : (*part)->few) mask.Allow(id);
    if ((*part)->exits.empty()) return {};
    const ConfigId behind = run.Open(below);
    for (const uint32_t exit : (*part)->exits) {
      if (auto added = AddAll(run, exit, behind, walk, mask); !added) return added;
    }
    return {};
  }
  return AddAll(run, 0, run.Open(top), walk, mask);
}

// For a simple rule alone, any grammar with the same rule can share the result.
Result<std::shared_ptr<const TokenGrammar::Part>> TokenGrammar::PartOf(const Key& key, TokenWalk& walk) const {
  const std::optional<Key> shared = SharedKey(key);
  MaskPartCache& cache = shared ? vocabulary_->parts() : parts_;
  if (auto known = cache.Find(shared.value_or(key))) return known;
  auto part = Compute(key, walk);
  if (part) cache.Keep(shared.value_or(key), *part);
  return part;
}

std::optional<TokenGrammar::Key> TokenGrammar::SharedKey(const Key& key) const {
  constexpr size_t kOneFrame = 3;
  const auto* rule = grammar_->PlainRuleOf(key[0]);
  if (key.size() != kOneFrame || rule == nullptr) return std::nullopt;
  const auto number = numbers_[static_cast<size_t>(rule - grammar_->plain_rules().data())];
  if (!number) return std::nullopt;
  return Key{*number, key[0] - rule->first, key.back()};
}

Result<std::shared_ptr<const TokenGrammar::Part>> TokenGrammar::Compute(const Key& key, TokenWalk& walk) const {
  Pushdown run(grammar_);
  StackId top = Pushdown::kBottom;
  std::vector<Pushdown::Frame> frames;  // the innermost last
  for (size_t at = key.size() - 1; at > 0; at -= 2) {
    frames.push_back({.state = key[at - 2], .count = key[at - 1], .below = top});
    top = run.Push(frames.back());
  }
  std::ranges::reverse(frames);
  const bool at_bottom = key.back() != 0;
  const PlainTokens& words = vocabulary_->plain();
  const PlainRun plain = plain_runs_.Of(frames, words.longest());
  auto part = std::make_shared<Part>();
  std::vector<TokenId> tokens;
  const auto take = [&](const TokenTrie& trie, uint32_t node, ConfigId config) {
    for (const TokenId id : trie.TokensAt(node)) tokens.push_back(id);
    const uint32_t whole = trie.InWhole(node);
    if (!at_bottom && run.CanEnd(config) && !vocabulary_->trie().IsLeaf(whole)) part->exits.push_back(whole);
    return part->exits.size() <= kMaxExits;
  };
  const ConfigId begin = run.Open(top);
  const bool walked = plain.least > 0 ? WalkPlain(run, begin, plain, take)
                                      : walk.Run(run, 0, begin, [&](uint32_t node, ConfigId config) {
                                          return take(vocabulary_->trie(), node, config);
                                        });
  if (!walked && part->exits.size() <= kMaxExits) return TooAmbiguous();
  if (!walked) {
    part->exits.clear();
    part->too_many_exits = true;
    return std::shared_ptr<const Part>(std::move(part));
  }
  if (plain.least == 0 && static_cast<int64_t>(tokens.size()) * kFewShare < tokenizer().size()) {
    part->few = std::move(tokens);
    return std::shared_ptr<const Part>(std::move(part));
  }
  part->many = plain.least > 0 ? std::make_unique<TokenMask>(words.UpTo(plain.least))
                               : std::make_unique<TokenMask>(tokenizer().size());
  for (const TokenId id : tokens) part->many->Allow(id);
  std::ranges::sort(part->exits);  // both walks may have found one
  part->exits.erase(std::unique(part->exits.begin(), part->exits.end()), part->exits.end());
  return std::shared_ptr<const Part>(std::move(part));
}

// All tokens but those of at most `plain.least` plain characters, which fit.
bool TokenGrammar::WalkPlain(Pushdown& run, ConfigId config, const PlainRun& plain, const NodeTaker& take) const {
  const PlainTokens& words = vocabulary_->plain();
  const bool others = TokenWalk(words.others()).Run(run, 0, config, [&](uint32_t node, ConfigId reached) {
    return take(words.others(), node, reached);
  });
  if (!others || plain.least >= words.longest() || plain.most <= plain.least) return others;
  return TokenWalk(words.plain())
      .Run(
          run, 0, config, [&](uint32_t node, ConfigId reached) { return take(words.plain(), node, reached); },
          [&](uint32_t node) { return words.LongestBelow(node) <= plain.least; });
}

// The least count beyond which no token sees a difference: each repetition of a body reads at least one byte.
uint32_t TokenGrammar::SameCount(const Pushdown::Frame& frame) const {
  const auto* counter = grammar_->CounterOf(frame.state);
  if (counter == nullptr) return 0;
  const uint32_t longest = vocabulary_->trie().depth();
  if (counter->max != kUnbounded && counter->max - frame.count <= longest) return frame.count;
  if (frame.count >= counter->min) return counter->min;
  return counter->min - frame.count > longest ? 0 : frame.count;
}

Status TokenGrammar::AddAll(Pushdown& run, uint32_t root, ConfigId config, TokenWalk& walk, TokenMask& mask) const {
  const bool walked = walk.Run(run, root, config, [&](uint32_t node, ConfigId) {
    for (const TokenId id : vocabulary_->trie().TokensAt(node)) mask.Allow(id);
    return true;
  });
  if (!walked) return TooAmbiguous();
  return {};
}

// A leading space is removed from the text: the rest of the token must fit.
Status TokenGrammar::DropSpace(Pushdown& run, ConfigId config, TokenWalk& walk, TokenMask& mask) const {
  const TokenTrie& trie = vocabulary_->trie();
  const uint32_t space = trie.Find(' ');
  if (space == 0) return {};
  for (uint32_t node = space; node < trie.nodes()[space].end; ++node) {
    for (const TokenId id : trie.TokensAt(node)) mask.Forbid(id);
  }
  if (run.CanGoOn(config)) {
    for (const TokenId id : trie.TokensAt(space)) mask.Allow(id);
  }
  return AddAll(run, space, config, walk, mask);
}

}  // namespace inferflux::text
