#include "formats/huggingface/hf_tokenizer.h"

#include <filesystem>

#include "formats/printable.h"

namespace inferflux::formats {
namespace {

struct TokenPlace {
  std::string text;
  uint32_t id;
};

Result<std::vector<TokenPlace>> ReadVocab(const JsonObject& model) {
  const auto vocab = model.Get<JsonObject>("vocab");
  if (!vocab) return Forward(vocab);
  std::vector<TokenPlace> places;
  places.reserve(vocab->raw().size());
  for (const auto& pair : vocab->raw()) {
    const auto id = JsonAs<uint32_t>(pair.value(), fmt::format("{}.{}", vocab->source(), Printable(pair.key())));
    if (!id) return Forward(id);
    places.push_back({pair.key(), *id});
  }
  return places;
}

// Unigram: a list of [piece, score]; the position is the id.
Status ReadPieces(const JsonObject& model, HfTokenizer& tokenizer, std::vector<TokenPlace>& places) {
  const boost::json::value* vocab = model.FindValue("vocab");
  const boost::json::array* pieces = vocab != nullptr ? vocab->if_array() : nullptr;
  if (pieces == nullptr)
    return Fail(ErrorCode::kDataLoss, "{}: vocab should be a list of [piece, score]", model.source());
  for (size_t i = 0; i < pieces->size(); ++i) {
    const std::string where = fmt::format("{}: vocab[{}]", model.source(), i);
    const boost::json::array* piece = (*pieces)[i].if_array();
    if (piece == nullptr || piece->size() != 2) return Fail(ErrorCode::kDataLoss, "{} should be [piece, score]", where);
    auto text = JsonAs<std::string>((*piece)[0], where);
    if (!text) return Forward(text);
    const auto score = JsonAs<float>((*piece)[1], where);
    if (!score) return Forward(score);
    places.push_back({std::move(*text), static_cast<uint32_t>(i)});
    tokenizer.scores.push_back(*score);
  }
  return {};
}

// "left right", or ["left", "right"] in newer files, where the parts may contain spaces.
Status ReadMerges(const JsonObject& model, HfTokenizer& tokenizer) {
  const boost::json::value* merges = model.FindValue("merges");
  if (merges == nullptr) return {};
  const boost::json::array* list = merges->if_array();
  if (list == nullptr) return Fail(ErrorCode::kDataLoss, "{}: merges should be a list", model.source());
  tokenizer.merges.reserve(list->size());
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string where = fmt::format("{}: merges[{}]", model.source(), i);
    const boost::json::value& merge = (*list)[i];
    if (merge.is_array()) {
      auto parts = JsonAs<std::vector<std::string>>(merge, where);
      if (!parts) return Forward(parts);
      if (parts->size() != 2 || (*parts)[0].empty() || (*parts)[1].empty()) {
        return Fail(ErrorCode::kDataLoss, "{} should hold two tokens", where);
      }
      if ((*parts)[0].find(' ') != std::string::npos || (*parts)[1].find(' ') != std::string::npos) {
        return Fail(ErrorCode::kUnsupported, "{}: a token with a space in it cannot be merged here", where);
      }
      tokenizer.merges.push_back((*parts)[0] + " " + (*parts)[1]);
      continue;
    }
    auto text = JsonAs<std::string>(merge, where);
    if (!text) return Forward(text);
    const size_t space = text->find(' ');
    if (space == 0 || space == std::string::npos || space + 1 == text->size() ||
        text->find(' ', space + 1) != std::string::npos) {
      return Fail(ErrorCode::kDataLoss, "{} should be two tokens with a space between, but is '{}'", where,
                  Printable(*text));
    }
    tokenizer.merges.push_back(std::move(*text));
  }
  return {};
}

Status ReadAddedTokens(const JsonObject& root, HfTokenizer& tokenizer) {
  const auto added = root.GetOr<std::vector<JsonObject>>("added_tokens", {});
  if (!added) return Forward(added);
  for (const JsonObject& entry : *added) {
    HfAddedToken token;
    auto content = entry.Get<std::string>("content");
    if (!content) return Forward(content);
    token.content = std::move(*content);
    const auto id = entry.Get<TokenId>("id");
    if (!id) return Forward(id);
    if (*id < 0) return Fail(ErrorCode::kDataLoss, "{}: id {} is negative", entry.source(), *id);
    token.id = *id;
    if (auto read = ReadHfTokenFlags(entry, token); !read) return read;
    tokenizer.added_tokens.push_back(std::move(token));
  }
  return {};
}

Status PlaceTokens(std::vector<TokenPlace> places, HfTokenizer& tokenizer, const std::string& source) {
  const uint64_t limit = 4 * (places.size() + tokenizer.added_tokens.size()) + 65536;
  for (const HfAddedToken& token : tokenizer.added_tokens)
    places.push_back({token.content, static_cast<uint32_t>(token.id)});
  for (TokenPlace& place : places) {
    if (place.id >= limit) {
      return Fail(ErrorCode::kDataLoss, "{}: token '{}' has id {}; {} tokens may have ids below {}", source,
                  Printable(place.text), place.id, places.size(), limit);
    }
    if (place.id >= tokenizer.tokens.size()) {
      tokenizer.tokens.resize(place.id + 1);
      tokenizer.present.resize(place.id + 1);
    }
    if (tokenizer.present[place.id] && tokenizer.tokens[place.id] != place.text) {
      return Fail(ErrorCode::kDataLoss, "{}: tokens '{}' and '{}' have the same id {}", source,
                  Printable(tokenizer.tokens[place.id]), Printable(place.text), place.id);
    }
    tokenizer.present[place.id] = true;
    tokenizer.tokens[place.id] = std::move(place.text);
  }
  if (tokenizer.tokens.empty()) return Fail(ErrorCode::kDataLoss, "{}: the vocabulary is empty", source);
  if (!tokenizer.scores.empty()) tokenizer.scores.resize(tokenizer.tokens.size());
  return {};
}

Status ReadModel(const JsonObject& model, HfTokenizer& tokenizer, std::vector<TokenPlace>& places) {
  auto kind = model.GetOr<std::string>("type", model.FindValue("merges") != nullptr ? "BPE" : "");
  if (!kind) return Forward(kind);
  tokenizer.model = std::move(*kind);
  if (tokenizer.model == "Unigram") {
    if (auto read = ReadPieces(model, tokenizer, places); !read) return read;
  } else if (tokenizer.model == "BPE" || tokenizer.model == "WordPiece") {
    auto vocab = ReadVocab(model);
    if (!vocab) return Forward(vocab);
    places = std::move(*vocab);
  } else {
    return Fail(ErrorCode::kUnsupported, "{}: type '{}' is unknown; BPE, Unigram and WordPiece are read",
                model.source(), Printable(tokenizer.model));
  }
  if (tokenizer.model == "BPE") {
    if (auto read = ReadMerges(model, tokenizer); !read) return read;
  }
  auto unk = model.Find<std::string>("unk_token");
  if (!unk) return Forward(unk);
  tokenizer.unk_token = std::move(*unk);
  const auto unk_id = model.Find<uint32_t>("unk_id");  // Unigram's way
  if (!unk_id) return Forward(unk_id);
  if (*unk_id) {
    if (**unk_id >= places.size()) {
      return Fail(ErrorCode::kDataLoss, "{}: unk_id is {}, but there are {} pieces", model.source(), **unk_id,
                  places.size());
    }
    tokenizer.unk_token = places[**unk_id].text;
  }
  const auto byte_fallback = model.GetOr<bool>("byte_fallback", false);
  if (!byte_fallback) return Forward(byte_fallback);
  tokenizer.byte_fallback = *byte_fallback;
  const auto ignore_merges = model.GetOr<bool>("ignore_merges", false);
  if (!ignore_merges) return Forward(ignore_merges);
  tokenizer.ignore_merges = *ignore_merges;
  auto prefix = model.GetOr<std::string>("continuing_subword_prefix", "");
  if (!prefix) return Forward(prefix);
  tokenizer.continuing_subword_prefix = std::move(*prefix);
  const auto max_chars = model.GetOr<uint32_t>("max_input_chars_per_word", 100);
  if (!max_chars) return Forward(max_chars);
  tokenizer.max_input_chars_per_word = *max_chars;
  return {};
}

}  // namespace

Status ReadHfTokenFlags(const JsonObject& entry, HfAddedToken& token) {
  const std::pair<std::string_view, bool*> flags[] = {{"special", &token.special},
                                                      {"lstrip", &token.strips_left},
                                                      {"rstrip", &token.strips_right},
                                                      {"single_word", &token.single_word},
                                                      {"normalized", &token.normalized}};
  for (const auto& [key, flag] : flags) {
    const auto value = entry.GetOr<bool>(key, *flag);
    if (!value) return Forward(value);
    *flag = *value;
  }
  return {};
}

Result<HfTokenizer> ParseHfTokenizer(JsonObject root) {
  HfTokenizer tokenizer{.root = std::move(root)};
  const auto model = tokenizer.root.Get<JsonObject>("model");
  if (!model) return Forward(model);
  std::vector<TokenPlace> places;
  if (auto read = ReadModel(*model, tokenizer, places); !read) return Forward(read);
  if (auto read = ReadAddedTokens(tokenizer.root, tokenizer); !read) return Forward(read);
  if (auto placed = PlaceTokens(std::move(places), tokenizer, tokenizer.root.source()); !placed) return Forward(placed);
  return tokenizer;
}

Result<HfTokenizer> ReadHfTokenizer(const std::string& directory) {
  auto root = JsonObject::ReadFile((std::filesystem::path(directory) / "tokenizer.json").string());
  if (!root) return Forward(root);
  return ParseHfTokenizer(std::move(*root));
}

}  // namespace inferflux::formats
