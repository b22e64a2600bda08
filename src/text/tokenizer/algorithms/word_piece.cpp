#include "text/tokenizer/algorithms/word_piece.h"

#include "base/work_budget/work_budget.h"
#include "unicode/character_classes.h"
#include "unicode/utf8.h"

namespace inferflux::text {
namespace {

constexpr size_t kMaxWordCharacters = 100;  // BERT's max_input_chars_per_word: a longer word is unknown

// The blocks whose characters BERT's normaliser separates. The reference implementations with which models were trained
// have U+2B920 where U+2B820 was meant.
bool IsIdeograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool IsPunctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  return unicode::ClassOf(c) == unicode::CharClass::kPunctuation;
}

}  // namespace

Result<std::unique_ptr<SubwordModel>> WordPiece::Create(const Vocabulary& vocabulary) {
  if (!vocabulary.spec().unk) {
    return Fail(ErrorCode::kDataLoss, "the vocabulary names no unknown token, which its tokeniser '{}' needs",
                vocabulary.spec().model);
  }
  return std::unique_ptr<SubwordModel>(new WordPiece(vocabulary));
}

WordPiece::WordPiece(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    std::string_view text = vocabulary.Text(id);
    if (!vocabulary.IsText(id) || text.empty()) continue;
    const bool starts = text.size() > unicode::kSpaceMarkUtf8.size() && text.starts_with(unicode::kSpaceMarkUtf8);
    if (starts) text.remove_prefix(unicode::kSpaceMarkUtf8.size());
    ByteTrie& pieces = starts ? starts_ : rests_;
    pieces.SetValue(pieces.Insert(text), id);
  }
}

// Removes control characters, replaces white space by a space, puts spaces around ideographs, and removes accents and
// case if the model says so.
std::string WordPiece::Normalize(std::string_view text) const {
  std::string clean;
  for (size_t at = 0; at < text.size();) {
    const unicode::Utf8Char c = unicode::DecodeUtf8(text, at);
    at += c.size;
    const bool control = unicode::IsOtherCategory(c.code) && c.code != '\t' && c.code != '\n' && c.code != '\r';
    if (!c.valid || c.code == unicode::kReplacementChar || control) {
      continue;
    } else if (unicode::ClassOf(c.code) == unicode::CharClass::kWhiteSpace) {
      clean.push_back(' ');
    } else if (IsIdeograph(c.code)) {
      clean.push_back(' ');
      unicode::AppendUtf8(c.code, clean);
      clean.push_back(' ');
    } else {
      unicode::AppendUtf8(c.code, clean);
    }
  }
  if (vocabulary_.spec().strip_accents) clean = unicode::Decompose(clean);
  std::string out;
  for (size_t at = 0; at < clean.size();) {
    const unicode::Utf8Char c = unicode::DecodeUtf8(clean, at);
    at += c.size;
    if (vocabulary_.spec().strip_accents && unicode::IsNonspacingMark(c.code)) continue;
    if (vocabulary_.spec().lowercase) {
      unicode::AppendLowercase(c.code, out);
    } else {
      unicode::AppendUtf8(c.code, out);
    }
  }
  return out;
}

void WordPiece::Encode(std::string_view run, bool /*first*/, std::vector<TokenId>& out) const {
  const std::string text = Normalize(run);
  size_t begin = 0;
  size_t characters = 0;
  const auto finish = [&](size_t end) {
    if (end > begin) EncodeWord(std::string_view(text).substr(begin, end - begin), characters, out);
    characters = 0;
  };
  for (size_t at = 0; at < text.size();) {
    if (WorkBudget::Spent()) return;
    const unicode::Utf8Char c = unicode::DecodeUtf8(text, at);
    const size_t end = at + c.size;
    const bool punctuation = IsPunctuation(c.code);
    if (punctuation || unicode::ClassOf(c.code) == unicode::CharClass::kWhiteSpace) {
      finish(at);
      begin = at;
      if (punctuation) {
        characters = 1;
        finish(end);
      }
      begin = end;
    } else {
      ++characters;
    }
    at = end;
  }
  finish(text.size());
}

void WordPiece::EncodeWord(std::string_view word, size_t characters, std::vector<TokenId>& out) const {
  const size_t before = out.size();
  bool known = characters <= kMaxWordCharacters;
  for (size_t at = 0; known && at < word.size();) {
    const ByteTrie& pieces = at == 0 ? starts_ : rests_;
    ByteTrie::Node node = ByteTrie::kRoot;
    TokenId longest = kNoToken;
    size_t longest_end = at;
    for (size_t end = at; end < word.size();) {
      node = pieces.Step(node, word[end++]);
      if (node == ByteTrie::kNone) break;
      if (pieces.ValueAt(node) == ByteTrie::kNoValue) continue;
      longest = pieces.ValueAt(node);
      longest_end = end;
    }
    known = longest != kNoToken;
    if (known) out.push_back(longest);
    at = longest_end;
  }
  if (known) return;
  out.resize(before);
  out.push_back(*vocabulary_.spec().unk);
}

}  // namespace inferflux::text
