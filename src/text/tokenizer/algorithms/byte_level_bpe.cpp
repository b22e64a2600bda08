#include "text/tokenizer/algorithms/byte_level_bpe.h"

#include <string>
#include <utility>

#include "base/work_budget/work_budget.h"
#include "text/tokenizer/algorithms/byte_alphabet.h"
#include "text/tokenizer/algorithms/merge_list.h"
#include "text/tokenizer/word_cache.h"
#include "unicode/character_classes.h"
#include "unicode/utf8.h"

namespace inferflux::text {

Result<std::unique_ptr<SubwordModel>> ByteLevelBpe::Create(const Vocabulary& vocabulary, const MergeSpec& merges) {
  const PreTokenizerRules* rules = vocabulary.spec().pre_tokenizer;
  if (rules == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                "a byte-level vocabulary without a pre-tokeniser: text would be cut in the "
                "wrong places; give it the rules that the model was trained with");
  }
  auto pre_tokenizer = PreTokenizer::Create(*rules);
  if (!pre_tokenizer) return Forward(pre_tokenizer);
  std::unique_ptr<ByteLevelBpe> model(new ByteLevelBpe(vocabulary, std::move(*pre_tokenizer), merges.merges.size()));
  if (Status ok = model->AddMerges(merges); !ok) return Forward(ok);
  return model;
}

ByteLevelBpe::ByteLevelBpe(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer, size_t merges)
    : vocabulary_(vocabulary), pre_tokenizer_(std::move(pre_tokenizer)), merges_(merges), by_bytes_(pieces_) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    pieces_.Add(vocabulary.Bytes(id));
    if (vocabulary.kind(id) == TokenKind::kNormal || vocabulary.kind(id) == TokenKind::kByte) by_bytes_.Insert(id);
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    of_byte_[byte] = by_bytes_.Find({&raw, 1});
    if (of_byte_[byte] != kNoToken) continue;
    // Some files mark the letters of bytes that UTF-8 never uses as user-defined; they are still the tokens of these
    // bytes.
    std::string letter;
    unicode::AppendUtf8(ByteToAlphabet(static_cast<uint8_t>(byte)), letter);
    const TokenId id = vocabulary.Find(letter);
    if (id != kNoToken && vocabulary.IsText(id)) of_byte_[byte] = id;
  }
}

TokenId ByteLevelBpe::Intern(std::string_view bytes) {
  const TokenId known = by_bytes_.Find(bytes);
  if (known != kNoToken) return known;
  if (bytes.size() == 1 && of_byte_[static_cast<uint8_t>(bytes[0])] != kNoToken) {
    return of_byte_[static_cast<uint8_t>(bytes[0])];
  }
  const auto id = static_cast<TokenId>(pieces_.size());
  pieces_.Add(bytes);
  by_bytes_.Insert(id);
  return id;
}

Status ByteLevelBpe::AddMerges(const MergeSpec& merges) {
  for (size_t i = 0; i < merges.merges.size(); ++i) {
    const auto halves = SplitMerge(merges.merges[i], i);
    if (!halves) return Forward(halves);
    const std::string left = DecodeByteAlphabet(halves->first);
    const std::string right = DecodeByteAlphabet(halves->second);
    const TokenId left_id = Intern(left);
    const TokenId right_id = Intern(right);
    merges_.Insert(left_id, right_id, {static_cast<uint32_t>(i), Intern(left + right)});
  }
  return {};
}

void ByteLevelBpe::Encode(std::string_view run, bool /*first*/, std::vector<TokenId>& out) const {
  std::string normalized;
  if (pre_tokenizer_.rules().nfc) run = unicode::NormalizeNfc(run, normalized);
  std::string masked;
  std::vector<uint32_t> ends;
  pre_tokenizer_.Split(unicode::MaskInvalidUtf8(run, masked), ends);
  WordCache cache(run.size());
  BpeMerger merger;
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    if (WorkBudget::Spent()) return;
    const std::string_view word = run.substr(begin, end - begin);
    begin = end;
    if (cache.Find(word, out)) continue;
    const size_t before = out.size();
    EncodeWord(word, merger, out);
    cache.Insert(word, std::span(out).subspan(before));
  }
}

void ByteLevelBpe::EncodeWord(std::string_view word, BpeMerger& merger, std::vector<TokenId>& out) const {
  if (pre_tokenizer_.rules().ignore_merges) {
    const TokenId whole = by_bytes_.Find(word);
    if (vocabulary_.Contains(whole)) return out.push_back(whole);
  }
  merger.Clear();
  for (size_t i = 0; i < word.size(); ++i) {
    merger.symbols().push_back({of_byte_[static_cast<uint8_t>(word[i])], static_cast<uint32_t>(i), 1});
  }
  merger.Run([this](const BpeSymbol& left, const BpeSymbol& right) { return merges_.Find(left.id, right.id); });
  for (const BpeSymbol& symbol : merger.symbols()) {
    if (vocabulary_.Contains(symbol.id)) {
      out.push_back(symbol.id);
    } else {
      AppendBytes(word.substr(symbol.begin, symbol.size), out);
    }
  }
}

void ByteLevelBpe::AppendBytes(std::string_view bytes, std::vector<TokenId>& out) const {
  for (const char c : bytes) {
    TokenId id = of_byte_[static_cast<uint8_t>(c)];
    if (id == kNoToken && vocabulary_.spec().unk) id = *vocabulary_.spec().unk;
    if (id != kNoToken) out.push_back(id);
  }
}

}  // namespace inferflux::text
