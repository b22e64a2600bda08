#include "formats/huggingface/sentencepiece_tokenizer.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "base/mapped_file.h"
#include "formats/byte_reader.h"
#include "formats/printable.h"
#include "formats/sentencepiece/sentencepiece_model.h"

namespace inferflux::formats {
namespace {

using Kind = SentencePieceModel::Kind;

// By id. If both files define an id, tokenizer_config.json has precedence.
using AddedTokens = std::map<TokenId, HfAddedToken>;

Status ReadAddedFile(std::string_view text, AddedTokens& tokens) {
  if (text.empty()) return {};
  const auto root = JsonObject::Parse(text, "added_tokens.json");
  if (!root) return Forward(root);
  for (const auto& pair : root->raw()) {
    const auto id = JsonAs<TokenId>(pair.value(), fmt::format("{}: {}", root->source(), Printable(pair.key())));
    if (!id) return Forward(id);
    tokens[*id] = {.id = *id, .content = pair.key()};
  }
  return {};
}

Status ReadDecoder(const HfTokenizerConfig& config, AddedTokens& tokens) {
  const auto decoder = config.raw.Find<JsonObject>("added_tokens_decoder");
  if (!decoder) return Forward(decoder);
  if (!*decoder) return {};
  for (const auto& pair : (*decoder)->raw()) {
    HfAddedToken token;
    const std::string_view key = pair.key();
    const auto [end, failure] = std::from_chars(key.data(), key.data() + key.size(), token.id);
    const auto entry = (*decoder)->Get<JsonObject>(key);
    if (!entry) return Forward(entry);
    if (failure != std::errc() || end != key.data() + key.size())
      return Fail(ErrorCode::kDataLoss, "{}: '{}' is not a token id", (*decoder)->source(), Printable(key));
    auto content = entry->Get<std::string>("content");
    if (!content) return Forward(content);
    token.content = std::move(*content);
    if (auto read = ReadHfTokenFlags(*entry, token); !read) return read;
    tokens[token.id] = std::move(token);
  }
  return {};
}

// A piece, and its token if it is matched as a whole.
void AddPiece(const SentencePieceModel::Piece& piece, HfTokenizer& tokenizer) {
  const auto id = static_cast<TokenId>(tokenizer.tokens.size());
  tokenizer.tokens.push_back(piece.text);
  tokenizer.present.push_back(piece.kind != Kind::kUnused);
  tokenizer.scores.push_back(piece.score);
  if (piece.kind == Kind::kUnknown && !tokenizer.unk_token) tokenizer.unk_token = piece.text;
  if (piece.kind == Kind::kControl || piece.kind == Kind::kUserDefined) {
    tokenizer.added_tokens.push_back({.id = id, .content = piece.text, .special = piece.kind == Kind::kControl});
  }
}

Status AddTokens(AddedTokens added, HfTokenizer& tokenizer) {
  const size_t limit = 4 * (tokenizer.tokens.size() + added.size()) + 65536;
  for (auto& entry : added) {
    const TokenId id = entry.first;
    HfAddedToken& token = entry.second;
    if (id < 0 || static_cast<size_t>(id) >= limit) {
      return Fail(ErrorCode::kDataLoss, "{}: the added token '{}' has id {}, which is not between 0 and {}",
                  tokenizer.root.source(), Printable(token.content), id, limit - 1);
    }
    const auto index = static_cast<size_t>(id);
    if (index >= tokenizer.tokens.size()) {
      tokenizer.tokens.resize(index + 1);
      tokenizer.present.resize(index + 1);
      tokenizer.scores.resize(index + 1);
    }
    if (tokenizer.present[index] && tokenizer.tokens[index] != token.content) {
      return Fail(ErrorCode::kDataLoss, "{}: the added token '{}' has the id {} of the piece '{}'",
                  tokenizer.root.source(), Printable(token.content), id, Printable(tokenizer.tokens[index]));
    }
    tokenizer.present[index] = true;
    tokenizer.tokens[index] = token.content;
    std::erase_if(tokenizer.added_tokens, [&](const HfAddedToken& old) { return old.id == token.id; });
    tokenizer.added_tokens.push_back(std::move(token));
  }
  return {};
}

}  // namespace

Result<HfTokenizer> MakeSentencePieceTokenizer(std::string_view model_bytes, const std::string& source,
                                               const HfTokenizerConfig& config, std::string_view added) {
  auto model = ParseSentencePieceModel(model_bytes, source);
  if (!model) return Forward(model);
  HfTokenizer tokenizer{.root = *JsonObject::Parse("{}", source)};
  tokenizer.model = model->algorithm == SentencePieceModel::Algorithm::kUnigram ? "Unigram" : "BPE";
  tokenizer.byte_fallback = model->byte_fallback;
  // Tokenizers of 2023 and earlier prepend the space to every run; "legacy": false says that this one does not.
  const char* prefix = config.legacy.value_or(true) ? "every" : "first";
  tokenizer.rules = SentencePieceRules{.charsmap = std::move(model->charsmap),
                                       .space_prefix = model->add_dummy_prefix ? prefix : "never",
                                       .remove_extra_whitespaces = model->remove_extra_whitespaces};
  for (const SentencePieceModel::Piece& piece : model->pieces) AddPiece(piece, tokenizer);
  AddedTokens tokens;
  if (auto read = ReadAddedFile(added, tokens); !read) return Forward(read);
  if (auto read = ReadDecoder(config, tokens); !read) return Forward(read);
  if (auto placed = AddTokens(std::move(tokens), tokenizer); !placed) return Forward(placed);
  return tokenizer;
}

Result<HfTokenizer> ReadSentencePieceTokenizer(const std::string& directory, const HfTokenizerConfig& config) {
  const std::filesystem::path base(directory);
  for (const char* name : {"tokenizer.model", "spiece.model"}) {
    const std::string path = (base / name).string();
    const auto file = MappedFile::Open(path);
    if (!file && file.error().code == ErrorCode::kNotFound) continue;
    if (!file) return Forward(file);
    const auto added = MappedFile::Open((base / "added_tokens.json").string());
    if (!added && added.error().code != ErrorCode::kNotFound) return Forward(added);
    return MakeSentencePieceTokenizer(AsText((*file)->bytes()), path, config, added ? AsText((*added)->bytes()) : "");
  }
  return Fail(ErrorCode::kNotFound, "{}: neither tokenizer.json nor tokenizer.model nor spiece.model is there",
              directory);
}

}  // namespace inferflux::formats
