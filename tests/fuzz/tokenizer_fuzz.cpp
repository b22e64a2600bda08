// Any bytes, in any spans, with every kind of tokenizer; and vocabularies made of any bytes.
//
// The first byte chooses a tokenizer, or a vocabulary from the rest. Then spans follow: a byte for length and trust,
// and the text. Checked: no control token comes from untrusted text, spans of the same trust give the same result as
// their joined text, byte-level vocabularies return their input, and streams are valid UTF-8.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cpu_limit.h"
#include "text/detokenizer.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/vocab_builders.h"
#include "unicode/utf8.h"

namespace {

using inferflux::TokenId;
using inferflux::text::MergeSpec;
using inferflux::text::TextSpan;
using inferflux::text::Tokenizer;
using inferflux::text::TokenKind;
using inferflux::text::VocabSpec;
using TokenizerPtr = std::shared_ptr<const Tokenizer>;
namespace build = inferflux::text::testing;

void Require(bool condition) {
  if (!condition) std::abort();
}

TokenizerPtr Make(VocabSpec spec, std::vector<std::string> merges) {
  for (const char* name : {"<s>", "</s>", "<|end|>", "<|end|>|"}) build::AddToken(spec, name, TokenKind::kControl);
  build::AddToken(spec, "<tool>", TokenKind::kUserDefined);
  auto tokenizer = Tokenizer::Create(std::move(spec), MergeSpec{std::move(merges)});
  Require(tokenizer.has_value());
  return *tokenizer;
}

const std::vector<TokenizerPtr>& Tokenizers() {
  static const std::vector<TokenizerPtr> all = [] {
    std::vector<TokenizerPtr> made;
    const std::vector<std::string> merges = {"Ġ t", "h e", "Ġt he", "a a", "aa aa", "< |"};
    for (const char* pre : {"gpt-2", "llama-bpe", "qwen2", "gpt-4o", "deepseek-llm", "deepseek-v3", "falcon",
                            "tiny_aya", "superbpe", "exaone-moe", "kimi-k2", "bloom"}) {
      made.push_back(Make(build::ByteLevelSpec(merges, pre), merges));
    }
    const std::vector<std::string> pieces = {"▁", "a", "b", "▁a", "ab", "aa", "aaaa", "é", "<", "s", ">", "/s"};
    for (const char* model : {"llama", "t5"}) {
      made.push_back(Make(build::SentencePieceSpec(model, pieces), {}));
      made.push_back(Make(build::SentencePieceSpec(model, pieces, /*bytes=*/false), {}));
    }
    made.push_back(Make(build::SentencePieceSpec("gemma4", pieces), {"▁ a", "a b", "a a", "aa aa"}));
    made.push_back(Make(build::WordPieceSpec({"▁a", "a", "▁b", "b", "▁é", "▁."}), {}));
    return made;
  }();
  return all;
}

void CheckEncode(const TokenizerPtr& tokenizer, const std::vector<TextSpan>& spans) {
  std::string text;
  bool trusted = false;
  for (const TextSpan& span : spans) {
    text += span.text;
    trusted |= span.trusted;
  }
  const auto tokens = tokenizer->Encode(spans);
  if (trusted) return;
  inferflux::text::Detokenizer stream(tokenizer);
  for (const TokenId id : tokens) {
    const bool unknown = tokenizer->Text(id) == "<unk>" || tokenizer->Text(id) == "[UNK]";
    Require(unknown || !tokenizer->IsControl(id));
    Require(inferflux::unicode::IsValidUtf8(stream.Push(id)));
  }
  Require(tokens == tokenizer->Encode(text));
  // The first of Tokenizers() preserves text.
  if (tokenizer == Tokenizers().front()) Require(tokenizer->Decode(tokens) == text);
}

void FuzzText(const TokenizerPtr& tokenizer, const uint8_t* data, size_t size) {
  std::vector<TextSpan> spans;
  while (size > 0) {
    const bool trusted = (*data & 1) != 0;
    const size_t length = std::min<size_t>(*data >> 1, size - 1);
    spans.push_back({std::string(reinterpret_cast<const char*>(data) + 1, length), trusted});
    data += length + 1;
    size -= length + 1;
  }
  CheckEncode(tokenizer, spans);
}

// The lines of the input are tokens and merges; the first bytes choose the settings.
void FuzzVocabulary(const uint8_t* data, size_t size) {
  if (size < 8) return;
  const char* models[] = {"gpt2", "llama", "gemma4", "t5", "bert", "rwkv"};
  VocabSpec spec;
  spec.model = models[data[0] % 6];
  spec.pre_tokenizer = build::PreTokenizerOf("gpt-2");
  if (data[1] < 128) spec.unk = data[1];
  if (data[2] < 128) spec.bos = data[2];
  spec.add_bos = (data[3] & 1) != 0;
  spec.remove_extra_whitespaces = (data[3] & 2) != 0;
  const size_t map = std::min<size_t>(data[4], size - 8);
  spec.charsmap.assign(reinterpret_cast<const char*>(data) + 8, map);
  MergeSpec merges;
  std::string line;
  for (size_t i = 8; i < size; ++i) {
    if (data[i] != '\n') {
      line.push_back(static_cast<char>(data[i]));
      continue;
    }
    if ((data[5] & 1) != 0 && line.find(' ', 1) != std::string::npos) merges.merges.push_back(line);
    build::AddToken(spec, line, static_cast<TokenKind>(1 + line.size() % 6), -static_cast<float>(i % 17));
    line.clear();
  }
  const auto tokenizer = Tokenizer::Create(std::move(spec), std::move(merges));
  if (!tokenizer) return;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const TokenId id : (*tokenizer)->Encode(text)) Require(id >= 0 && id < (*tokenizer)->size());
  const std::vector<TextSpan> spans = {{text, true}, {text, false}};
  (*tokenizer)->Decode((*tokenizer)->Encode(spans));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  if (size == 0) return 0;
  if (data[0] >= 200) {
    FuzzVocabulary(data + 1, size - 1);
  } else {
    FuzzText(Tokenizers()[data[0] % Tokenizers().size()], data + 1, size - 1);
  }
  return 0;
}
