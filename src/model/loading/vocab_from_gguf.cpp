#include "model/loading/vocab_from_gguf.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/huggingface/hf_vocab.h"
#include "model/families/tokenizers/tokenizer_traits.h"
#include "model/loading/turn_markers.h"

namespace inferflux::model {
namespace {

using formats::GgufMetadata;
using text::SpacePrefix;
using text::TokenKind;
using text::VocabSpec;

std::string Key(std::string_view name) { return fmt::format("tokenizer.ggml.{}", name); }

// `into` does not change if the key is absent.
template <class T>
Status Read(const GgufMetadata& metadata, std::string_view name, T& into) {
  auto value = metadata.GetOr<T>(Key(name), std::move(into));
  if (!value) return Forward(value);
  into = std::move(*value);
  return {};
}

Status ReadTokens(const GgufMetadata& metadata, VocabSpec& vocab) {
  auto tokens = metadata.Get<std::vector<std::string_view>>(Key("tokens"));
  if (!tokens) return Forward(tokens);
  vocab.tokens.assign(tokens->begin(), tokens->end());
  if (Status ok = Read(metadata, "scores", vocab.scores); !ok) return ok;
  auto kinds = metadata.GetOr<std::vector<int32_t>>(Key("token_type"), {});
  if (!kinds) return Forward(kinds);
  for (const int32_t kind : *kinds) {
    const bool known =
        kind >= static_cast<int32_t>(TokenKind::kNormal) && kind <= static_cast<int32_t>(TokenKind::kByte);
    vocab.kinds.push_back(known ? static_cast<TokenKind>(kind) : TokenKind::kUnused);
  }
  if (!vocab.kinds.empty() && vocab.kinds.size() != vocab.tokens.size()) {
    return Fail(ErrorCode::kDataLoss, "{}: {} tokens, but {} token types", metadata.source(), vocab.tokens.size(),
                vocab.kinds.size());
  }
  return {};
}

// A default id must name a control token. If the vocabulary has plain text at that id, the default does not apply.
void DropDefaultsThatAreText(VocabSpec& vocab) {
  const auto text = [&](const std::optional<TokenId>& id) {
    return id && static_cast<size_t>(*id) < vocab.kinds.size() &&
           vocab.kinds[static_cast<size_t>(*id)] == TokenKind::kNormal;
  };
  if (std::ranges::all_of(vocab.kinds, [](TokenKind kind) { return kind == TokenKind::kNormal; })) return;
  for (auto* id : {&vocab.bos, &vocab.eos, &vocab.unk, &vocab.pad, &vocab.cls, &vocab.sep, &vocab.mask}) {
    if (text(*id)) id->reset();
  }
}

// An id out of range is ignored: converters write such ids for tokens that a vocabulary lacks.
Status ReadId(const GgufMetadata& metadata, std::string_view name, std::optional<TokenId>& into, size_t tokens) {
  auto id = metadata.GetOr<int64_t>(Key(name), into ? *into : -1);
  if (!id) return Forward(id);
  into = *id >= 0 && static_cast<uint64_t>(*id) < tokens ? std::optional(static_cast<TokenId>(*id)) : std::nullopt;
  return {};
}

Status ReadIds(const GgufMetadata& metadata, VocabSpec& vocab) {
  const std::pair<std::string_view, std::optional<TokenId>*> ids[] = {
      {"bos_token_id", &vocab.bos},     {"eos_token_id", &vocab.eos},
      {"eot_token_id", &vocab.eot},     {"eom_token_id", &vocab.eom},
      {"unknown_token_id", &vocab.unk}, {"seperator_token_id", &vocab.sep},  // the key's spelling
      {"cls_token_id", &vocab.cls},     {"padding_token_id", &vocab.pad},
      {"mask_token_id", &vocab.mask}};
  for (const auto& [name, id] : ids) {
    if (Status ok = ReadId(metadata, name, *id, vocab.tokens.size()); !ok) return ok;
  }
  return {};
}

// The defaults of a tokenizer model if the file does not set the flags.
void SetDefaults(bool adds_bos, VocabSpec& vocab) {
  if (vocab.model == "llama") {
    vocab.bos = 1;
    vocab.eos = 2;
    vocab.unk = 0;
    vocab.add_bos = true;
    vocab.space_prefix = SpacePrefix::kEveryRun;
  } else if (vocab.model == "t5") {
    vocab.eos = 1;
    vocab.unk = 2;
    vocab.pad = 0;
    vocab.add_eos = true;
    vocab.space_prefix = SpacePrefix::kEveryRun;
  } else if (vocab.model == "bert") {
    vocab.unk = 100;
    vocab.cls = 101;
    vocab.sep = 102;
    vocab.pad = 0;
    vocab.mask = 103;
    vocab.add_bos = true;
    vocab.add_eos = true;
  } else if (vocab.model == "gemma4") {
    vocab.add_bos = true;
  } else if (vocab.model == "gpt2") {
    vocab.add_bos = adds_bos;
  }
}

Status ReadFlags(const GgufMetadata& metadata, VocabSpec& vocab) {
  bool prefix = vocab.space_prefix != SpacePrefix::kNever;
  if (Status ok = Read(metadata, "add_space_prefix", prefix); !ok) return ok;
  const bool sentencepiece = vocab.model == "llama" || vocab.model == "t5" || vocab.model == "gemma4";
  vocab.space_prefix = prefix && sentencepiece ? SpacePrefix::kEveryRun : SpacePrefix::kNever;
  bool add_sep = vocab.add_eos;
  if (Status ok = Read(metadata, "add_bos_token", vocab.add_bos); !ok) return ok;
  if (Status ok = Read(metadata, "add_eos_token", vocab.add_eos); !ok) return ok;
  if (Status ok = Read(metadata, "add_sep_token", add_sep); !ok) return ok;
  if (vocab.model == "bert") vocab.add_eos = add_sep;
  vocab.add_bos = vocab.add_bos && (vocab.bos || vocab.cls);
  vocab.add_eos = vocab.add_eos && (vocab.eos || vocab.sep);
  if (Status ok = Read(metadata, "remove_extra_whitespaces", vocab.remove_extra_whitespaces); !ok) return ok;
  if (Status ok = Read(metadata, "normalizer.lowercase", vocab.lowercase); !ok) return ok;
  vocab.strip_accents = vocab.lowercase;
  if (Status ok = Read(metadata, "normalizer.strip_accents", vocab.strip_accents); !ok) return ok;
  if (const formats::GgufEntry* map = metadata.Find(Key("precompiled_charsmap"))) {
    vocab.charsmap.assign(reinterpret_cast<const char*>(map->payload.data()), map->payload.size());
  }
  return {};
}

// Ids under our own keys. Unlike GGUF's, an id out of range is an error.
Status ReadOwnIds(const GgufMetadata& metadata, std::string_view key, size_t tokens, std::vector<TokenId>& into) {
  const auto ids = metadata.GetOr<std::vector<int32_t>>(key, {});
  if (!ids) return Forward(ids);
  for (const TokenId id : *ids) {
    if (id < 0 || static_cast<size_t>(id) >= tokens) {
      return Fail(ErrorCode::kDataLoss, "{}: {} names token {}, but there are {} tokens", metadata.source(), key, id,
                  tokens);
    }
    into.push_back(id);
  }
  return {};
}

Status ReadOwnKeys(const GgufMetadata& metadata, VocabSpec& vocab) {
  const auto prefix = metadata.GetOr<std::string>(formats::kSpacePrefixKey, "");
  if (!prefix) return Forward(prefix);
  if (vocab.space_prefix != SpacePrefix::kNever) {
    if (*prefix == "first") vocab.space_prefix = SpacePrefix::kFirstRun;
    if (*prefix == "unspaced") vocab.space_prefix = SpacePrefix::kEveryUnspacedRun;
  }
  const std::pair<std::string_view, std::vector<TokenId>*> lists[] = {{formats::kEndsKey, &vocab.end_of_generation},
                                                                      {formats::kStripsLeftKey, &vocab.strips_left},
                                                                      {formats::kStripsRightKey, &vocab.strips_right}};
  for (const auto& [key, ids] : lists) {
    if (Status ok = ReadOwnIds(metadata, key, vocab.tokens.size(), *ids); !ok) return ok;
  }
  return {};
}

// Sets the algorithm, and how byte-level BPE splits text. Returns whether texts begin with bos if the file does not
// say.
Result<bool> ReadModel(const GgufMetadata& metadata, VocabSpec& vocab) {
  auto model = metadata.Get<std::string>(Key("model"));
  if (!model) return Forward(model);
  vocab.model = std::move(*model);
  const auto pre = metadata.GetOr<std::string>(Key("pre"), "");
  if (!pre) return Forward(pre);
  if (vocab.model != "gpt2") return false;
  for (const TokenizerTraits* traits : AllTokenizerTraits()) {
    const auto& names = traits->sentencepiece_names;
    if (std::ranges::find(names, *pre) == names.end()) continue;
    vocab.model = "gemma4";
    return false;
  }
  const NamedPreTokenizer* row = FindPreTokenizer(*pre);
  if (row == nullptr) {
    const std::string problem = pre->empty() ? "the model's file names no pre-tokeniser (tokenizer.ggml.pre)"
                                             : fmt::format("the pre-tokeniser '{}' is not known", *pre);
    return Fail(ErrorCode::kUnsupported,
                "{}; text would be cut in the wrong places. Convert the model again with a current converter, or set "
                "tokenizer.ggml.pre to the one that it was trained with. Known are: {}",
                problem, PreTokenizerNames());
  }
  vocab.pre_tokenizer = &row->rules;
  return row->adds_bos;
}

}  // namespace

Result<VocabSpecs> VocabFromGguf(const GgufMetadata& metadata) {
  VocabSpecs specs;
  VocabSpec& vocab = specs.vocab;
  const auto adds_bos = ReadModel(metadata, vocab);
  if (!adds_bos) return Forward(adds_bos);
  SetDefaults(*adds_bos, vocab);
  if (Status ok = ReadTokens(metadata, vocab); !ok) return Forward(ok);
  DropDefaultsThatAreText(vocab);
  if (Status ok = ReadIds(metadata, vocab); !ok) return Forward(ok);
  if (Status ok = ReadFlags(metadata, vocab); !ok) return Forward(ok);
  if (Status ok = ReadOwnKeys(metadata, vocab); !ok) return Forward(ok);
  MarkControlTokens(vocab);
  FindEndOfGeneration(vocab);
  for (const TokenizerTraits* traits : AllTokenizerTraits()) {
    if (traits->adjust != nullptr) traits->adjust(metadata, vocab);
  }
  auto merges = metadata.GetOr<std::vector<std::string_view>>(Key("merges"), {});
  if (!merges) return Forward(merges);
  specs.merges.merges.assign(merges->begin(), merges->end());
  return specs;
}

}  // namespace inferflux::model
