#include "text/grammar/grammar_matcher.h"

#include <string_view>
#include <unordered_map>
#include <utility>

namespace inferflux::text {
namespace {

// Above these limits a generation drops what it has computed, and continues from its current position.
constexpr size_t kMaxConfigs = 16'384;
constexpr size_t kMaxFrames = 262'144;
constexpr size_t kMaxMasks = 64;

}  // namespace

struct GrammarMatcher::Run {
  explicit Run(const std::shared_ptr<const CompiledGrammar>& grammar) : pushdown(grammar) {}

  Pushdown pushdown;
  std::unordered_map<ConfigId, std::shared_ptr<const TokenMask>> masks;
};

GrammarMatcher::GrammarMatcher(std::shared_ptr<const TokenGrammar> grammar, bool starts_text)
    : grammar_(std::move(grammar)),
      run_(std::make_shared<Run>(grammar_->grammar())),
      at_(run_->pushdown.Start()),
      drops_space_(starts_text && grammar_->tokenizer().adds_space_prefix()) {}

Result<std::shared_ptr<const TokenMask>> GrammarMatcher::Mask() {
  if (at_ == Pushdown::kTooMany) return TooAmbiguous();
  if (drops_space_) {
    auto mask = grammar_->Mask(run_->pushdown, at_, true);
    if (!mask) return Forward(mask);
    return std::make_shared<const TokenMask>(std::move(*mask));
  }
  if (const auto found = run_->masks.find(at_); found != run_->masks.end()) return found->second;
  auto mask = grammar_->Mask(run_->pushdown, at_, false);
  if (!mask) return Forward(mask);
  auto kept = std::make_shared<const TokenMask>(std::move(*mask));
  if (run_->masks.size() == kMaxMasks) run_->masks.clear();
  run_->masks.emplace(at_, kept);
  return kept;
}

Status GrammarMatcher::Accept(TokenId token) {
  const auto misfit = [&] {
    return Fail(ErrorCode::kInvalidArgument, "the grammar does not allow token {} here", token);
  };
  std::string_view bytes = grammar_->spelling().Of(token);
  if (bytes.empty()) return misfit();
  if (drops_space_ && bytes.front() == ' ') {
    bytes.remove_prefix(1);
    if (bytes.empty() && must_end()) return misfit();
  }
  ConfigId to = at_;
  for (const char c : bytes) to = run_->pushdown.Next(to, static_cast<uint8_t>(c));
  if (to == Pushdown::kTooMany) return TooAmbiguous();
  if (to == Pushdown::kDead) return misfit();
  at_ = to;
  drops_space_ = false;
  if (run_->pushdown.configs() > kMaxConfigs || run_->pushdown.frames() > kMaxFrames) {
    auto fresh = std::make_shared<Run>(grammar_->grammar());
    at_ = fresh->pushdown.Copy(run_->pushdown, at_);
    run_ = std::move(fresh);
  }
  return {};
}

bool GrammarMatcher::can_end() const { return run_->pushdown.CanEnd(at_); }

bool GrammarMatcher::must_end() const { return !run_->pushdown.CanGoOn(at_); }

}  // namespace inferflux::text
