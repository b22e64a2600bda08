#include "text/tokenizer/algorithms/sentencepiece_bpe.h"

#include <bit>
#include <string>
#include <utility>

#include "base/work_budget/work_budget.h"
#include "text/tokenizer/algorithms/merge_list.h"
#include "text/tokenizer/fallback.h"
#include "text/tokenizer/word_cache.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

// Scores as priorities: the higher the score, the lower the number.
uint32_t PriorityOf(float score) {
  const auto bits = std::bit_cast<uint32_t>(score);
  const uint32_t ascending = (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
  const uint32_t priority = ~ascending;
  return priority == kNoMerge ? kNoMerge - 1 : priority;
}

}  // namespace

Result<std::unique_ptr<SubwordModel>> SentencePieceBpe::Create(const Vocabulary& vocabulary, const MergeSpec& merges) {
  if (vocabulary.algorithm() == Algorithm::kMergeBpe && merges.merges.empty()) {
    return Fail(ErrorCode::kDataLoss, "the vocabulary has no merges, which its tokeniser '{}' needs",
                vocabulary.spec().model);
  }
  if (merges.merges.empty() && vocabulary.spec().scores.empty()) {
    return Fail(ErrorCode::kDataLoss, "the vocabulary has neither scores nor merges; its tokeniser '{}' needs one",
                vocabulary.spec().model);
  }
  auto normalizer = SentencePieceText::Create(vocabulary.spec());
  if (!normalizer) return Forward(normalizer);
  std::unique_ptr<SentencePieceBpe> model(
      new SentencePieceBpe(vocabulary, std::move(*normalizer), merges.merges.size()));
  if (Status ok = model->AddMerges(merges); !ok) return Forward(ok);
  return model;
}

SentencePieceBpe::SentencePieceBpe(const Vocabulary& vocabulary, SentencePieceText normalizer, size_t merges)
    : vocabulary_(vocabulary),
      normalizer_(std::move(normalizer)),
      cutter_(vocabulary),
      pieces_(vocabulary.texts()),
      by_scores_(merges == 0),
      merges_(merges) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.IsText(id)) pieces_.Insert(id);
  }
}

Status SentencePieceBpe::AddMerges(const MergeSpec& merges) {
  for (size_t i = 0; i < merges.merges.size(); ++i) {
    const auto halves = SplitMerge(merges.merges[i], i);
    if (!halves) return Forward(halves);
    const TokenId left = pieces_.Find(halves->first);
    const TokenId right = pieces_.Find(halves->second);
    const TokenId both = pieces_.Find(std::string(halves->first).append(halves->second));
    // A merge of pieces that text cannot produce never happens.
    if (left == kNoToken || right == kNoToken || both == kNoToken) continue;
    merges_.Insert(left, right, {static_cast<uint32_t>(i), both});
  }
  return {};
}

void SentencePieceBpe::Encode(std::string_view run, bool first, std::vector<TokenId>& out) const {
  const std::string text = normalizer_.Normalize(run, first);
  const size_t run_begin = out.size();
  WordCache cache(text.size());
  BpeMerger merger;
  cutter_.Cut(text, [&](std::string_view word) {
    if (WorkBudget::Spent() || cache.Find(word, out)) return;
    const size_t before = out.size();
    EncodeWord(word, merger, out);
    cache.Insert(word, std::span(out).subspan(before));
  });
  MergeUnknowns(vocabulary_, run_begin, out);
}

BpeMerge SentencePieceBpe::MergeByScore(std::string_view word, const BpeSymbol& left, const BpeSymbol& right) const {
  const TokenId both = pieces_.Find(word.substr(left.begin, left.size + right.size));
  if (both == kNoToken) return {kNoMerge, kNoToken};
  return {PriorityOf(vocabulary_.score(both)), both};
}

void SentencePieceBpe::EncodeWord(std::string_view word, BpeMerger& merger, std::vector<TokenId>& out) const {
  merger.Clear();
  for (size_t at = 0; at < word.size();) {
    if (WorkBudget::Spent()) return;
    const uint32_t size = unicode::DecodeUtf8(word, at).size;
    merger.symbols().push_back({pieces_.Find(word.substr(at, size)), static_cast<uint32_t>(at), size});
    at += size;
  }
  if (by_scores_) {
    merger.Run([&](const BpeSymbol& left, const BpeSymbol& right) { return MergeByScore(word, left, right); });
  } else {
    merger.Run([&](const BpeSymbol& left, const BpeSymbol& right) { return merges_.Find(left.id, right.id); });
  }
  for (const BpeSymbol& symbol : merger.symbols()) {
    if (symbol.id != kNoToken) {
      out.push_back(symbol.id);
    } else {
      AppendUnspellable(vocabulary_, word.substr(symbol.begin, symbol.size), out);
    }
  }
}

}  // namespace inferflux::text
