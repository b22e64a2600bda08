#include "text/reasoning/output_matcher.h"

#include <utility>

#include "text/tool_calls/marker.h"

namespace inferflux::text {
namespace {

// The end must wait for the answer that the grammar requires.
std::shared_ptr<const TokenMask> AllButEnds(const Tokenizer& tokenizer) {
  auto out = std::make_shared<TokenMask>(tokenizer.size());
  for (TokenId id = 0; id < tokenizer.size(); ++id) out->Allow(id);
  for (const TokenId id : tokenizer.end_of_generation()) out->Forbid(id);
  return out;
}

}  // namespace

OutputMatcher::OutputMatcher(std::shared_ptr<const Tokenizer> tokenizer, std::shared_ptr<const TokenGrammar> grammar,
                             const ReasoningLimits* limits, bool starts_text)
    : tokenizer_(std::move(tokenizer)) {
  const bool reasons = limits != nullptr && !limits->dialect->opening.empty() && !limits->dialect->closing.empty();
  if (grammar) grammar_.emplace(std::move(grammar), starts_text && !reasons);
  if (!reasons) return;
  dialect_ = limits->dialect;
  budget_ = limits->budget;
  if (grammar_) no_end_ = AllButEnds(*tokenizer_);
  at_ = At::kStart;
  if (limits->inside) Begin();
}

// The reasoning has been opened.
void OutputMatcher::Begin() {
  at_ = budget_ && *budget_ <= 0 ? At::kClosing : At::kReasoning;
  seen_.clear();
  forced_ = 0;
}

Result<std::shared_ptr<const TokenMask>> OutputMatcher::Mask() {
  switch (at_) {
    case At::kStart: {
      if (!grammar_) return nullptr;
      auto mask = grammar_->Mask();
      if (!mask) return mask;
      auto more = std::make_shared<TokenMask>(**mask);
      more->Allow(dialect_->opening.front());
      return more;
    }
    case At::kOpening:
      return Only(dialect_->opening[forced_]);
    case At::kReasoning:
      return no_end_;
    case At::kClosing:
      return Only(dialect_->closing[forced_]);
    case At::kAnswer:
      if (grammar_) return grammar_->Mask();
      return nullptr;
  }
  return nullptr;
}

Status OutputMatcher::Accept(TokenId token) {
  switch (at_) {
    case At::kStart:
      return Start(token);
    case At::kOpening:
    case At::kClosing: {
      const auto& marker = at_ == At::kOpening ? dialect_->opening : dialect_->closing;
      if (token != marker[forced_]) {
        return Fail(ErrorCode::kInvalidArgument, "the reasoning's marker does not allow token {} here", token);
      }
      if (++forced_ < marker.size()) return {};
      if (at_ == At::kOpening) {
        Begin();
      } else {
        at_ = At::kAnswer;
      }
      return {};
    }
    case At::kReasoning:
      return Reason(token);
    case At::kAnswer:
      return grammar_ ? grammar_->Accept(token) : Status();
  }
  return {};
}

Status OutputMatcher::Start(TokenId token) {
  if (grammar_) {
    if (token != dialect_->opening.front()) {
      if (auto taken = grammar_->Accept(token); !taken) return taken;
      at_ = At::kAnswer;
      return {};
    }
    at_ = At::kOpening;
    forced_ = 1;
    if (dialect_->opening.size() == 1) Begin();
    return {};
  }
  seen_ += Spell(token);
  const MarkerMatch opens = MatchMarker(seen_, 0, dialect_->reasoning.form->opens);
  if (opens.whole()) {
    Begin();
  } else if (!opens.partly()) {
    at_ = At::kAnswer;
  }
  return {};
}

Status OutputMatcher::Reason(TokenId token) {
  const std::string_view closes = dialect_->reasoning.form->closes;
  seen_ += Spell(token);
  ++reasoned_;
  const size_t at = seen_.find(closes);
  if (at != std::string::npos) {
    seen_.clear();
    at_ = At::kAnswer;
    return {};
  }
  if (seen_.size() >= closes.size()) seen_.erase(0, seen_.size() - closes.size() + 1);
  if (!budget_ || reasoned_ < *budget_) return {};
  at_ = At::kClosing;
  forced_ = 0;
  return {};
}

std::string OutputMatcher::Spell(TokenId token) const {
  return std::string(tokenizer_->IsControl(token) ? tokenizer_->Text(token) : tokenizer_->Bytes(token));
}

std::shared_ptr<const TokenMask> OutputMatcher::Only(TokenId token) const {
  auto out = std::make_shared<TokenMask>(tokenizer_->size());
  out->Allow(token);
  return out;
}

}  // namespace inferflux::text
