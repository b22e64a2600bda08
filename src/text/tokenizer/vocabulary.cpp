#include "text/tokenizer/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "text/tokenizer/algorithms/byte_alphabet.h"
#include "text/tokenizer/algorithms/greedy_matcher.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

constexpr size_t kMaxTokens = size_t{1} << 26;  // the largest vocabularies today have 2^18

std::optional<Algorithm> ParseAlgorithm(std::string_view model) {
  if (model == "gpt2") return Algorithm::kByteLevelBpe;
  if (model == "llama") return Algorithm::kScoreBpe;
  if (model == "gemma4") return Algorithm::kMergeBpe;
  if (model == "t5") return Algorithm::kUnigram;
  if (model == "bert") return Algorithm::kWordPiece;
  if (model == "rwkv") return Algorithm::kGreedy;
  return std::nullopt;
}

// "<0x0A>" to 10.
std::optional<uint8_t> ParseByteToken(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    int digit;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else {
      return std::nullopt;
    }
    value = value * 16 + digit;
  }
  return static_cast<uint8_t>(value);
}

Status CheckLength(std::string_view what, size_t length, size_t tokens) {
  if (length == 0 || length == tokens) return {};
  return Fail(ErrorCode::kDataLoss, "the vocabulary has {} tokens, but {} {}", tokens, length, what);
}

Status CheckId(std::string_view what, TokenId id, size_t tokens) {
  if (id >= 0 && static_cast<size_t>(id) < tokens) return {};
  return Fail(ErrorCode::kDataLoss, "the vocabulary's {} token is {}, but its ids run from 0 to {}", what, id,
              tokens - 1);
}

Status CheckIds(const VocabSpec& spec) {
  const size_t tokens = spec.tokens.size();
  const std::pair<std::string_view, std::optional<TokenId>> named[] = {
      {"bos", spec.bos}, {"eos", spec.eos}, {"eot", spec.eot}, {"eom", spec.eom},  {"unknown", spec.unk},
      {"sep", spec.sep}, {"cls", spec.cls}, {"pad", spec.pad}, {"mask", spec.mask}};
  for (const auto& [what, id] : named) {
    if (!id) continue;
    if (Status ok = CheckId(what, *id, tokens); !ok) return ok;
  }
  const std::pair<std::string_view, const std::vector<TokenId>*> lists[] = {
      {"end-of-generation", &spec.end_of_generation},
      {"left-stripping", &spec.strips_left},
      {"right-stripping", &spec.strips_right}};
  for (const auto& [what, ids] : lists) {
    for (const TokenId id : *ids) {
      if (Status ok = CheckId(what, id, tokens); !ok) return ok;
    }
  }
  if (spec.add_bos && !spec.bos && !spec.cls) {
    return Fail(ErrorCode::kDataLoss, "the vocabulary adds a bos token, but does not name it");
  }
  if (spec.add_eos && !spec.eos && !spec.sep) {
    return Fail(ErrorCode::kDataLoss, "the vocabulary adds an eos token, but does not name it");
  }
  return {};
}

Status Check(const VocabSpec& spec) {
  const size_t tokens = spec.tokens.size();
  if (tokens == 0) return Fail(ErrorCode::kDataLoss, "the vocabulary has no tokens");
  if (tokens > kMaxTokens) {
    return Fail(ErrorCode::kDataLoss, "the vocabulary has {} tokens; the limit is {}", tokens, kMaxTokens);
  }
  if (Status ok = CheckLength("token kinds", spec.kinds.size(), tokens); !ok) return ok;
  if (Status ok = CheckLength("scores", spec.scores.size(), tokens); !ok) return ok;
  for (size_t i = 0; i < spec.scores.size(); ++i) {
    if (!std::isfinite(spec.scores[i])) return Fail(ErrorCode::kDataLoss, "the score of token {} is not a number", i);
  }
  return CheckIds(spec);
}

}  // namespace

Result<std::unique_ptr<const Vocabulary>> Vocabulary::Create(VocabSpec spec) {
  const auto algorithm = ParseAlgorithm(spec.model);
  if (!algorithm) {
    return Fail(ErrorCode::kUnsupported,
                "tokenizer model '{}' is not supported; supported are gpt2, llama, gemma4, t5, bert and rwkv",
                spec.model);
  }
  if (Status ok = Check(spec); !ok) return Forward(ok);
  return std::unique_ptr<const Vocabulary>(new Vocabulary(*algorithm, std::move(spec)));
}

Vocabulary::Vocabulary(Algorithm algorithm, VocabSpec spec)
    : algorithm_(algorithm), spec_(std::move(spec)), kinds_(std::move(spec_.kinds)), by_text_(texts_) {
  const auto tokens = std::move(spec_.tokens);
  kinds_.resize(tokens.size(), TokenKind::kNormal);
  std::fill_n(byte_tokens_, 256, kNoToken);
  for (const std::string& token : tokens) texts_.Add(token);
  for (TokenId id = 0; id < size(); ++id) {
    by_text_.Insert(id);
    FillBytes(id);
  }
  has_byte_fallback_ = std::count(byte_tokens_, byte_tokens_ + 256, kNoToken) == 0;
}

void Vocabulary::FillBytes(TokenId id) {
  const std::string_view text = texts_[id];
  if (kinds_[id] == TokenKind::kByte) {
    if (const auto byte = ParseByteToken(text)) {
      if (byte_tokens_[*byte] == kNoToken) byte_tokens_[*byte] = id;
      return bytes_.Add(std::string(1, static_cast<char>(*byte)));
    }
  }
  if (IsControl(id)) return bytes_.Add(text);
  switch (algorithm_) {
    case Algorithm::kByteLevelBpe:
      return kinds_[id] == TokenKind::kUserDefined ? bytes_.Add(text) : bytes_.Add(DecodeByteAlphabet(text));
    case Algorithm::kGreedy:
      return bytes_.Add(UnescapeGreedyToken(text));
    default:
      return bytes_.Add(unicode::ReplaceAll(text, unicode::kSpaceMarkUtf8, " "));
  }
}

bool Vocabulary::IsControl(TokenId id) const {
  const TokenKind kind = kinds_[id];
  return kind == TokenKind::kControl || kind == TokenKind::kUnknown || kind == TokenKind::kUnused;
}

}  // namespace inferflux::text
