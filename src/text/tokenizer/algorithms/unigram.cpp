#include "text/tokenizer/algorithms/unigram.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/work_budget/work_budget.h"
#include "text/tokenizer/fallback.h"
#include "text/tokenizer/word_cache.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

constexpr double kUnknownPenalty = 10.0;  // SentencePiece's kUnkPenalty
constexpr double kUnreached = -std::numeric_limits<double>::infinity();

}  // namespace

Result<std::unique_ptr<SubwordModel>> Unigram::Create(const Vocabulary& vocabulary) {
  if (vocabulary.spec().scores.empty()) {
    return Fail(ErrorCode::kDataLoss, "the vocabulary has no scores, which its tokeniser '{}' needs",
                vocabulary.spec().model);
  }
  auto normalizer = SentencePieceText::Create(vocabulary.spec());
  if (!normalizer) return Forward(normalizer);
  return std::unique_ptr<SubwordModel>(new Unigram(vocabulary, std::move(*normalizer)));
}

Unigram::Unigram(const Vocabulary& vocabulary, SentencePieceText normalizer)
    : vocabulary_(vocabulary), normalizer_(std::move(normalizer)), cutter_(vocabulary), scores_(vocabulary.size()) {
  double lowest = 0;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.IsText(id)) continue;
    const std::string_view text = vocabulary.Text(id);
    if (text.empty()) continue;
    // User-defined pieces score like certainty, so they win against their parts.
    const bool certain = vocabulary.kind(id) == TokenKind::kUserDefined;
    scores_[id] = certain ? 0.0 : static_cast<double>(vocabulary.score(id));
    lowest = std::min(lowest, scores_[id]);
    pieces_.SetValue(pieces_.Insert(text), id);
  }
  unknown_score_ = lowest - kUnknownPenalty;
}

void Unigram::Encode(std::string_view run, bool first, std::vector<TokenId>& out) const {
  const std::string text = normalizer_.Normalize(run, first);
  const size_t run_begin = out.size();
  WordCache cache(text.size());
  std::vector<Step> best;
  cutter_.Cut(text, [&](std::string_view word) {
    if (WorkBudget::Spent() || cache.Find(word, out)) return;
    const size_t before = out.size();
    EncodeWord(word, best, out);
    cache.Insert(word, std::span(out).subspan(before));
  });
  MergeUnknowns(vocabulary_, run_begin, out);
}

void Unigram::EncodeWord(std::string_view word, std::vector<Step>& best, std::vector<TokenId>& out) const {
  best.assign(word.size() + 1, Step{kUnreached, 0, kNoToken});
  best[0].score = 0;
  const auto offer = [&](size_t begin, size_t end, TokenId id, double score) {
    if (score > best[end].score) best[end] = {score, static_cast<uint32_t>(begin), id};
  };
  for (size_t at = 0; at < word.size();) {
    if (WorkBudget::Spent(4)) return;
    const size_t size = unicode::DecodeUtf8(word, at).size;
    const double score = best[at].score;
    bool whole_character = false;
    ByteTrie::Node node = ByteTrie::kRoot;
    for (size_t end = at; end < word.size();) {
      node = pieces_.Step(node, word[end++]);
      if (node == ByteTrie::kNone) break;
      const TokenId id = pieces_.ValueAt(node);
      if (id == ByteTrie::kNoValue) continue;
      whole_character |= end == at + size;
      offer(at, end, id, score + scores_[id]);
    }
    if (!whole_character) offer(at, at + size, kNoToken, score + unknown_score_);
    at += size;
  }
  // Backtracks from the end; the text between two steps is a piece.
  std::vector<uint32_t> ends;
  for (size_t end = word.size(); end > 0; end = best[end].begin) ends.push_back(static_cast<uint32_t>(end));
  for (size_t i = ends.size(); i-- > 0;) {
    const Step& step = best[ends[i]];
    if (step.id != kNoToken) {
      out.push_back(step.id);
    } else {
      AppendUnspellable(vocabulary_, word.substr(step.begin, ends[i] - step.begin), out);
    }
  }
}

}  // namespace inferflux::text
