#include "text/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "text/tokenizer/algorithms/byte_level_bpe.h"
#include "text/tokenizer/algorithms/greedy_matcher.h"
#include "text/tokenizer/algorithms/sentencepiece_bpe.h"
#include "text/tokenizer/algorithms/unigram.h"
#include "text/tokenizer/algorithms/word_piece.h"

namespace inferflux::text {
namespace {

// Offsets within a run are 32 bits wide.
constexpr size_t kMaxRunBytes = size_t{1} << 30;

Result<std::unique_ptr<SubwordModel>> CreateModel(const Vocabulary& vocabulary, const MergeSpec& merges) {
  switch (vocabulary.algorithm()) {
    case Algorithm::kByteLevelBpe:
      return ByteLevelBpe::Create(vocabulary, merges);
    case Algorithm::kScoreBpe:
    case Algorithm::kMergeBpe:
      return SentencePieceBpe::Create(vocabulary, merges);
    case Algorithm::kUnigram:
      return Unigram::Create(vocabulary);
    case Algorithm::kWordPiece:
      return WordPiece::Create(vocabulary);
    case Algorithm::kGreedy:
      return std::make_unique<GreedyMatcher>(vocabulary);
  }
  return Fail(ErrorCode::kInternal, "a tokeniser algorithm without a model");
}

std::vector<bool> FlagsOf(const std::vector<TokenId>& ids, int32_t size) {
  if (ids.empty()) return {};
  std::vector<bool> flags(size);
  for (const TokenId id : ids) flags[id] = true;
  return flags;
}

bool IsAsciiSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::Create(VocabSpec vocab, MergeSpec merges) {
  auto vocabulary = Vocabulary::Create(std::move(vocab));
  if (!vocabulary) return Forward(vocabulary);
  auto model = CreateModel(**vocabulary, merges);
  if (!model) return Forward(model);
  return std::shared_ptr<const Tokenizer>(new Tokenizer(std::move(*vocabulary), std::move(*model)));
}

Tokenizer::Tokenizer(std::unique_ptr<const Vocabulary> vocabulary, std::unique_ptr<const SubwordModel> model)
    : vocabulary_(std::move(vocabulary)),
      model_(std::move(model)),
      whole_tokens_(*vocabulary_),
      end_of_generation_(vocabulary_->spec().end_of_generation),
      strips_left_(FlagsOf(vocabulary_->spec().strips_left, vocabulary_->size())),
      strips_right_(FlagsOf(vocabulary_->spec().strips_right, vocabulary_->size())) {
  std::sort(end_of_generation_.begin(), end_of_generation_.end());
  end_of_generation_.erase(std::unique(end_of_generation_.begin(), end_of_generation_.end()), end_of_generation_.end());
  for (TokenId id = 0; id < size(); ++id)
    longest_token_ = std::max<uint64_t>(longest_token_, std::max(Text(id).size(), Bytes(id).size()));
}

std::optional<uint64_t> Tokenizer::MostBytes(int64_t tokens) const {
  const Algorithm algorithm = vocabulary_->algorithm();
  if (algorithm == Algorithm::kUnigram || algorithm == Algorithm::kWordPiece) return std::nullopt;
  if (!strips_left_.empty() || !strips_right_.empty() || tokens < 0) return std::nullopt;
  // Normalization Form C makes a text at most three times shorter, and an unknown character has four bytes.
  return std::max<uint64_t>(longest_token_, 4) * 3 * static_cast<uint64_t>(tokens);
}

std::vector<TokenId> Tokenizer::Encode(std::string_view text) const { return Encode(text, {}); }

std::vector<TokenId> Tokenizer::Encode(std::span<const TextSpan> spans) const {
  std::string text;
  std::vector<TextRange> trusted;
  for (const TextSpan& span : spans) {
    const size_t begin = text.size();
    text += span.text;
    if (!span.trusted || span.text.empty()) continue;
    if (!trusted.empty() && trusted.back().end == begin) {
      trusted.back().end = text.size();
    } else {
      trusted.push_back({begin, text.size()});
    }
  }
  return Encode(text, trusted);
}

std::vector<TokenId> Tokenizer::Encode(std::string_view text, std::span<const TextRange> trusted) const {
  std::vector<TokenId> out;
  size_t at = 0;
  for (const WholeToken& token : whole_tokens_.FindAll(text, trusted)) {
    size_t end = token.begin;
    if (!strips_left_.empty() && strips_left_[token.id]) {
      while (end > at && IsAsciiSpace(text[end - 1])) --end;
    }
    if (end > at) EncodeRun(text.substr(at, end - at), at == 0, out);
    out.push_back(token.id);
    at = token.end;
    if (!strips_right_.empty() && strips_right_[token.id]) {
      while (at < text.size() && IsAsciiSpace(text[at])) ++at;
    }
  }
  if (at < text.size()) EncodeRun(text.substr(at), at == 0, out);
  return out;
}

void Tokenizer::EncodeRun(std::string_view run, bool first, std::vector<TokenId>& out) const {
  for (; run.size() > kMaxRunBytes; run.remove_prefix(kMaxRunBytes), first = false) {
    model_->Encode(run.substr(0, kMaxRunBytes), first, out);
  }
  model_->Encode(run, first, out);
}

std::vector<TokenId> Tokenizer::WithSpecials(std::vector<TokenId> tokens) const {
  const VocabSpec& spec = vocabulary_->spec();
  const auto front = spec.bos ? spec.bos : spec.cls;
  const auto back = spec.eos ? spec.eos : spec.sep;
  if (spec.add_bos && (tokens.empty() || tokens.front() != *front)) tokens.insert(tokens.begin(), *front);
  if (spec.add_eos) tokens.push_back(*back);
  return tokens;
}

std::string_view Tokenizer::Bytes(TokenId id, bool control_too) const {
  if (!vocabulary_->Contains(id) || (!control_too && vocabulary_->IsControl(id))) return {};
  return vocabulary_->Bytes(id);
}

std::string Tokenizer::Decode(std::span<const TokenId> tokens) const {
  std::string out;
  for (const TokenId id : tokens) out += Bytes(id);
  if (adds_space_prefix() && out.starts_with(' ')) out.erase(0, 1);
  return out;
}

std::optional<TokenId> Tokenizer::Find(std::string_view text) const {
  const TokenId id = vocabulary_->Find(text);
  return id == kNoToken ? std::nullopt : std::optional(id);
}

std::string_view Tokenizer::Text(TokenId id) const {
  return vocabulary_->Contains(id) ? vocabulary_->Text(id) : std::string_view();
}

bool Tokenizer::IsControl(TokenId id) const { return vocabulary_->Contains(id) && vocabulary_->IsControl(id); }

bool Tokenizer::IsEndOfGeneration(TokenId id) const {
  return std::binary_search(end_of_generation_.begin(), end_of_generation_.end(), id);
}

bool Tokenizer::adds_space_prefix() const {
  return vocabulary_->spec().space_prefix != SpacePrefix::kNever || vocabulary_->algorithm() == Algorithm::kWordPiece;
}

}  // namespace inferflux::text
