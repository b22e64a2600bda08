#include "formats/huggingface/hf_vocab.h"

#include <algorithm>
#include <unordered_map>

#include "formats/huggingface/hf_steps.h"
#include "formats/huggingface/sentencepiece_rules.h"
#include "formats/printable.h"
#include "unicode/utf8.h"

namespace inferflux::formats {
namespace {

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// GGUF's token types.
enum class TokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

Result<std::optional<std::string>> SplitPattern(const JsonObject& step) {
  const auto type = step.Get<std::string>("type");
  if (!type) return Forward(type);
  if (*type == "ByteLevel") {
    const auto uses_pattern = step.GetOr<bool>("use_regex", true);
    if (!uses_pattern) return Forward(uses_pattern);
    return *uses_pattern ? std::optional<std::string>(kGpt2Pattern) : std::nullopt;
  }
  if (*type == "Digits") {
    const auto alone = step.GetOr<bool>("individual_digits", false);
    if (!alone) return Forward(alone);
    return std::optional<std::string>(*alone ? R"(\p{N})" : R"(\p{N}+)");
  }
  if (*type != "Split") {
    return Fail(ErrorCode::kUnsupported, "{}: the pre-tokenizer step '{}' has no counterpart in GGUF", step.source(),
                Printable(*type));
  }
  const auto pattern = step.Get<JsonObject>("pattern");
  if (!pattern) return Forward(pattern);
  auto text = pattern->Find<std::string>("Regex");
  if (!text) return Forward(text);
  if (!*text) {
    return Fail(ErrorCode::kUnsupported, "{}: a Split without a regular expression has no counterpart in GGUF",
                step.source());
  }
  return std::move(*text);
}

// The texts of the special tokens, as ids.
class TokenIds {
 public:
  explicit TokenIds(const HfTokenizer& tokenizer) {
    for (size_t i = 0; i < tokenizer.tokens.size(); ++i) {
      if (tokenizer.present[i]) ids_.emplace(tokenizer.tokens[i], static_cast<TokenId>(i));
    }
  }
  std::optional<TokenId> Find(const std::optional<std::string>& text) const {
    if (!text) return std::nullopt;
    const auto it = ids_.find(*text);
    return it == ids_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  std::unordered_map<std::string_view, TokenId> ids_;
};

bool LooksLikeByte(std::string_view token) {
  return token.size() == 6 && token.starts_with("<0x") && token.back() == '>';
}

// Some makers add tokens that structure a conversation without marking them special.
bool LooksSpecial(std::string_view token) {
  constexpr std::string_view kWideOpen = "<\xEF\xBD\x9C";  // U+FF5C, as DeepSeek writes it
  constexpr std::string_view kWideClose = "\xEF\xBD\x9C>";
  return token == "<pad>" || token == "<mask>" || token == "<2mass>" || token == "[@BOS@]" ||
         (token.starts_with("<|") && token.ends_with("|>")) ||
         (token.starts_with(kWideOpen) && token.ends_with(kWideClose)) ||
         (token.starts_with("<unused") && token.ends_with(">"));
}

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;

  void Set(size_t id, std::string text, TokenType kind) {
    tokens[id] = std::move(text);
    kinds[id] = static_cast<int32_t>(kind);
  }
};

Vocabulary MakeVocabulary(const HfTokenizer& tokenizer, HfVocabKind kind, uint32_t rows) {
  Vocabulary vocabulary{std::vector<std::string>(rows), std::vector<int32_t>(rows)};
  for (size_t i = 0; i < rows; ++i) {
    if (i >= tokenizer.tokens.size() || !tokenizer.present[i]) {
      vocabulary.Set(i, fmt::format("[PAD{}]", i), TokenType::kUnused);
    } else if (tokenizer.tokens[i] == tokenizer.unk_token) {
      vocabulary.Set(i, tokenizer.tokens[i], TokenType::kUnknown);
    } else {
      const bool bytes = kind == HfVocabKind::kSentencePieceBpe || kind == HfVocabKind::kUnigram;
      const bool byte = bytes && LooksLikeByte(tokenizer.tokens[i]);
      vocabulary.Set(i, tokenizer.tokens[i], byte ? TokenType::kByte : TokenType::kNormal);
    }
  }
  for (const HfAddedToken& token : tokenizer.added_tokens) {
    auto& current = vocabulary.kinds[static_cast<size_t>(token.id)];
    if (current == static_cast<int32_t>(TokenType::kUnknown) || current == static_cast<int32_t>(TokenType::kByte))
      continue;
    const bool control = token.special || LooksSpecial(token.content);
    // GGUF's user-defined tokens are matched in text before spaces are marked.
    std::string text = control ? token.content : unicode::ReplaceAll(token.content, unicode::kSpaceMarkUtf8, " ");
    vocabulary.Set(static_cast<size_t>(token.id), std::move(text),
                   control ? TokenType::kControl : TokenType::kUserDefined);
  }
  return vocabulary;
}

// WordPiece: GGUF marks the beginnings of words, tokenizer.json their continuations.
void MarkWordStarts(const HfTokenizer& tokenizer, Vocabulary& vocabulary) {
  const std::string& prefix = tokenizer.continuing_subword_prefix;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (vocabulary.kinds[i] != static_cast<int32_t>(TokenType::kNormal)) continue;
    std::string& token = vocabulary.tokens[i];
    if (!prefix.empty() && token.starts_with(prefix)) {
      token.erase(0, prefix.size());
    } else {
      token = fmt::format("{}{}", unicode::kSpaceMarkUtf8, token);
    }
  }
}

// SentencePiece merges the pair with the best score first. If the tokenizer has no scores, a token's score is the rank
// of its first merge, negated.
std::vector<float> ScoresOf(const HfTokenizer& tokenizer, const Vocabulary& vocabulary) {
  if (!tokenizer.scores.empty()) {
    std::vector<float> own = tokenizer.scores;
    own.resize(vocabulary.tokens.size());
    return own;
  }
  std::unordered_map<std::string, float> scores;
  for (size_t rank = 0; rank < tokenizer.merges.size(); ++rank) {
    std::string merged = tokenizer.merges[rank];
    merged.erase(merged.find(' '), 1);
    scores.emplace(std::move(merged), -static_cast<float>(rank));
  }
  std::vector<float> out(vocabulary.tokens.size(), 0.0f);
  const float last = -static_cast<float>(tokenizer.merges.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (vocabulary.kinds[i] != static_cast<int32_t>(TokenType::kNormal)) continue;
    const auto it = scores.find(vocabulary.tokens[i]);
    out[i] = it != scores.end() ? it->second : last;
  }
  return out;
}

// How text is prepared before pieces are looked for.
Status WriteRules(const HfTokenizer& tokenizer, GgufMetadataBuilder& metadata) {
  const auto rules = ReadSentencePieceRules(tokenizer);
  if (!rules) return Forward(rules);
  metadata.Set("tokenizer.ggml.add_space_prefix", rules->space_prefix != "never");
  if (rules->space_prefix == "first" || rules->space_prefix == "unspaced")
    metadata.Set(kSpacePrefixKey, rules->space_prefix);
  metadata.Set("tokenizer.ggml.remove_extra_whitespaces", rules->remove_extra_whitespaces);
  if (!rules->charsmap.empty()) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(rules->charsmap.data());
    metadata.SetArray("tokenizer.ggml.precompiled_charsmap", std::span<const uint8_t>(bytes, rules->charsmap.size()));
  }
  return {};
}

// Whether the post-processor puts `token` before a text ("special" at the template's start) or after it.
struct Surrounding {
  bool front = false;
  bool back = false;
  std::optional<uint32_t> separators;  // between the two texts of a pair
};

// A template's special tokens between the texts A and B: [CLS] A [SEP] B [SEP] has one.
Result<std::optional<uint32_t>> SeparatorsOf(const JsonObject& step) {
  const auto pair = step.GetOr<std::vector<JsonObject>>("pair", {});
  if (!pair) return Forward(pair);
  uint32_t texts = 0, separators = 0;
  for (const JsonObject& piece : *pair) {
    if (piece.FindValue("Sequence") != nullptr) ++texts;
    if (piece.FindValue("SpecialToken") != nullptr && texts == 1) ++separators;
  }
  return texts == 2 ? std::optional(separators) : std::nullopt;
}

Result<Surrounding> FindInTemplate(const HfTokenizer& tokenizer, const std::optional<std::string>& bos,
                                   const std::optional<std::string>& eos) {
  Surrounding surrounding;
  const auto processors = ReadHfSteps(tokenizer.root, "post_processor", "processors");
  if (!processors) return Forward(processors);
  for (const JsonObject& step : *processors) {
    const auto type = step.GetOr<std::string>("type", "");
    if (type == "RobertaProcessing") return Surrounding{.front = true, .back = true, .separators = 2};
    if (type == "BertProcessing") return Surrounding{.front = true, .back = true, .separators = 1};
    if (type != "TemplateProcessing") continue;
    const auto separators = SeparatorsOf(step);
    if (!separators) return Forward(separators);
    surrounding.separators = *separators;
    const auto single = step.GetOr<std::vector<JsonObject>>("single", {});
    if (!single) return Forward(single);
    const auto is = [](const JsonObject& piece, const std::optional<std::string>& token) {
      const auto special = piece.Find<JsonObject>("SpecialToken");
      return token && special && *special && (*special)->GetOr<std::string>("id", "") == *token;
    };
    if (single->empty()) continue;
    surrounding.front = surrounding.front || is(single->front(), bos);
    surrounding.back = surrounding.back || is(single->back(), eos);
  }
  return surrounding;
}

void WriteId(std::string_view name, std::optional<TokenId> id, GgufMetadataBuilder& metadata) {
  if (id && *id >= 0)
    metadata.Set<uint32_t>(fmt::format("tokenizer.ggml.{}_token_id", name), static_cast<uint32_t>(*id));
}

// The tokenizer's own words come first, then what the model's configuration says.
Status WriteRoles(const HfVocabParts& parts, const TokenIds& ids, GgufMetadataBuilder& metadata) {
  static const HfTokenizerConfig kNothing{.raw = *JsonObject::Parse("{}", "")};
  const HfTokenizerConfig& config = parts.config != nullptr ? *parts.config : kNothing;
  const auto bos = ids.Find(config.bos);
  WriteId("bos", bos ? bos : parts.bos, metadata);
  std::vector<TokenId> ends;  // distinct, the tokenizer's first
  const auto add_end = [&](TokenId id) {
    if (std::find(ends.begin(), ends.end(), id) == ends.end()) ends.push_back(id);
  };
  if (const auto eos = ids.Find(config.eos)) add_end(*eos);
  if (parts.generation != nullptr) std::for_each(parts.generation->eos.begin(), parts.generation->eos.end(), add_end);
  std::for_each(parts.eos.begin(), parts.eos.end(), add_end);
  constexpr std::string_view kEndRoles[] = {"eos", "eot", "eom"};  // all that GGUF has keys for
  for (size_t i = 0; i < std::min(ends.size(), std::size(kEndRoles)); ++i) WriteId(kEndRoles[i], ends[i], metadata);
  if (ends.size() > std::size(kEndRoles)) metadata.SetArray(kEndsKey, std::span<const TokenId>(ends));
  WriteId("unknown", ids.Find(parts.tokenizer.unk_token ? parts.tokenizer.unk_token : config.unk), metadata);
  WriteId("seperator", ids.Find(config.sep), metadata);  // the key's spelling
  WriteId("padding", ids.Find(config.pad), metadata);
  WriteId("cls", ids.Find(config.cls), metadata);
  WriteId("mask", ids.Find(config.mask), metadata);
  const auto surrounding =
      FindInTemplate(parts.tokenizer, config.bos ? config.bos : config.cls, config.eos ? config.eos : config.sep);
  if (!surrounding) return Forward(surrounding);
  // A ".model" file has no post-processor. The known behaviour of its kind applies where the configuration has no
  // setting.
  const bool guessed = parts.tokenizer.rules.has_value();
  if (surrounding->separators) metadata.Set(kPairSeparatorsKey, *surrounding->separators);
  if (parts.tokenizer.model == "WordPiece") return {};
  if (config.add_bos || !guessed)
    metadata.Set("tokenizer.ggml.add_bos_token", config.add_bos.value_or(surrounding->front));
  if (config.add_eos || !guessed)
    metadata.Set("tokenizer.ggml.add_eos_token", config.add_eos.value_or(surrounding->back));
  return {};
}

// Added tokens that swallow the white space beside them, for which GGUF has no key.
void WriteStripping(const HfTokenizer& tokenizer, GgufMetadataBuilder& metadata) {
  std::vector<TokenId> left, right;
  for (const HfAddedToken& token : tokenizer.added_tokens) {
    if (token.strips_left) left.push_back(token.id);
    if (token.strips_right) right.push_back(token.id);
  }
  if (!left.empty()) metadata.SetArray(kStripsLeftKey, std::span<const TokenId>(left));
  if (!right.empty()) metadata.SetArray(kStripsRightKey, std::span<const TokenId>(right));
}

// WordPiece's switches. Without a normalizer, text keeps its case and its accents.
Status WriteBertNormalizer(const HfTokenizer& tokenizer, GgufMetadataBuilder& metadata) {
  const auto steps = ReadHfSteps(tokenizer.root, "normalizer", "normalizers");
  if (!steps) return Forward(steps);
  bool lowercase = false, strips = false;
  for (const JsonObject& step : *steps) {
    const auto type = step.GetOr<std::string>("type", "");
    if (!type) return Forward(type);
    const auto flag = [&](const char* name, bool fallback) {
      return step.GetOr<bool>(name, fallback).value_or(fallback);
    };
    if (*type != "BertNormalizer" || !flag("clean_text", true) || !flag("handle_chinese_chars", true)) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: the normalizer '{}' is none that WordPiece has in GGUF: a BertNormalizer that "
                  "cleans text and sets ideographs apart",
                  step.source(), Printable(*type));
    }
    lowercase = flag("lowercase", true);
    strips = flag("strip_accents", lowercase);
  }
  metadata.Set("tokenizer.ggml.normalizer.lowercase", lowercase);
  metadata.Set("tokenizer.ggml.normalizer.strip_accents", strips);
  return {};
}

void WriteTemplates(const HfTokenizerConfig& config, GgufMetadataBuilder& metadata) {
  if (config.chat_template) metadata.Set("tokenizer.chat_template", *config.chat_template);
  std::vector<std::string> names;
  for (const auto& [name, text] : config.named_templates) {
    names.push_back(name);
    metadata.Set(fmt::format("tokenizer.chat_template.{}", name), text);
  }
  if (!names.empty()) metadata.SetArray("tokenizer.chat_templates", std::span<const std::string>(names));
}

}  // namespace

Result<HfVocabKind> ClassifyHfVocab(const HfTokenizer& tokenizer) {
  if (tokenizer.model == "WordPiece") return HfVocabKind::kWordPiece;
  if (tokenizer.model == "Unigram") return HfVocabKind::kUnigram;
  if (tokenizer.rules) return HfVocabKind::kSentencePieceBpe;
  if (tokenizer.model == "BPE") {
    const auto splits = ReadHfSteps(tokenizer.root, "pre_tokenizer", "pretokenizers");
    if (!splits) return Forward(splits);
    const auto decoders = ReadHfSteps(tokenizer.root, "decoder", "decoders");
    if (!decoders) return Forward(decoders);
    if (HasHfStep(*splits, "ByteLevel") || HasHfStep(*decoders, "ByteLevel")) return HfVocabKind::kByteLevelBpe;
    if (tokenizer.byte_fallback) return HfVocabKind::kSentencePieceBpe;
  }
  return Fail(ErrorCode::kUnsupported,
              "{}: a {} tokenizer of this make cannot be written as GGUF; byte-level BPE, SentencePiece BPE with byte "
              "fallback, unigram and WordPiece can",
              tokenizer.root.source(), tokenizer.model);
}

Result<std::vector<std::string>> ReadHfSplitPatterns(const HfTokenizer& tokenizer) {
  const auto steps = ReadHfSteps(tokenizer.root, "pre_tokenizer", "pretokenizers");
  if (!steps) return Forward(steps);
  std::vector<std::string> patterns;
  for (const JsonObject& step : *steps) {
    auto pattern = SplitPattern(step);
    if (!pattern) return Forward(pattern);
    if (*pattern) patterns.push_back(std::move(**pattern));
  }
  return patterns;
}

Result<bool> NormalizesToNfc(const HfTokenizer& tokenizer) {
  const auto normalizers = ReadHfSteps(tokenizer.root, "normalizer", "normalizers");
  if (!normalizers) return Forward(normalizers);
  return HasHfStep(*normalizers, "NFC");
}

Status WriteHfVocab(const HfVocabParts& parts, GgufMetadataBuilder& metadata) {
  const HfTokenizer& tokenizer = parts.tokenizer;
  if (tokenizer.tokens.size() > parts.rows) {
    return Fail(ErrorCode::kDataLoss, "{}: it has {} tokens, but config.json's vocab_size is {}",
                tokenizer.root.source(), tokenizer.tokens.size(), parts.rows);
  }
  const auto kind = ClassifyHfVocab(tokenizer);
  if (!kind) return Forward(kind);
  Vocabulary vocabulary = MakeVocabulary(tokenizer, *kind, parts.rows);
  if (*kind == HfVocabKind::kByteLevelBpe) {
    metadata.Set("tokenizer.ggml.model", "gpt2");
    metadata.Set("tokenizer.ggml.pre", parts.pre);
    metadata.SetArray("tokenizer.ggml.merges", std::span<const std::string>(tokenizer.merges));
  } else if (*kind == HfVocabKind::kSentencePieceBpe || *kind == HfVocabKind::kUnigram) {
    metadata.Set("tokenizer.ggml.model", *kind == HfVocabKind::kUnigram ? "t5" : "llama");
    metadata.Set("tokenizer.ggml.pre", "default");
    const std::vector<float> scores = ScoresOf(tokenizer, vocabulary);
    metadata.SetArray("tokenizer.ggml.scores", std::span<const float>(scores));
    // Readers that know scores alone ignore merges; with them the result is exact.
    if (!tokenizer.merges.empty()) {
      metadata.SetArray("tokenizer.ggml.merges", std::span<const std::string>(tokenizer.merges));
    }
    if (auto written = WriteRules(tokenizer, metadata); !written) return written;
  } else {
    metadata.Set("tokenizer.ggml.model", "bert");
    MarkWordStarts(tokenizer, vocabulary);
    if (auto written = WriteBertNormalizer(tokenizer, metadata); !written) return written;
  }
  metadata.SetArray("tokenizer.ggml.tokens", std::span<const std::string>(vocabulary.tokens));
  metadata.SetArray("tokenizer.ggml.token_type", std::span<const int32_t>(vocabulary.kinds));
  if (auto written = WriteRoles(parts, TokenIds(tokenizer), metadata); !written) return written;
  WriteStripping(tokenizer, metadata);
  if (parts.config != nullptr) WriteTemplates(*parts.config, metadata);
  return {};
}

}  // namespace inferflux::formats
