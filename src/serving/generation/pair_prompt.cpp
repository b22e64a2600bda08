#include "serving/generation/pair_prompt.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "serving/generation/chat_prompt.h"

namespace inferflux::serving {
namespace {

using Field = GenerationError::Field;

// Whether a chat template is written for the messages of a pair.
bool RendersPairs(const ServedModel& model) {
  if (!model.chat_template) return false;
  const std::string_view source = model.chat_template->source();
  const auto names = [&](std::string_view role) {
    return source.find('"' + std::string(role) + '"') != std::string_view::npos ||
           source.find('\'' + std::string(role) + '\'') != std::string_view::npos;
  };
  return names("query") && names("document");
}

// The template's text around the two texts, which are not trusted.
std::vector<text::TextSpan> Fill(std::string_view code, const std::string& query, const std::string& document) {
  const std::pair<std::string_view, const std::string*> places[] = {{"{query}", &query}, {"{document}", &document}};
  std::vector<text::TextSpan> spans;
  while (!code.empty()) {
    size_t at = std::string_view::npos;
    const std::pair<std::string_view, const std::string*>* next = nullptr;
    for (const auto& place : places) {
      const size_t found = code.find(place.first);
      if (found >= at) continue;
      at = found;
      next = &place;
    }
    spans.push_back({.text = std::string(code.substr(0, at)), .trusted = true});
    if (next == nullptr) break;
    spans.push_back({.text = *next->second, .trusted = false});
    code.remove_prefix(at + next->first.size());
  }
  return spans;
}

GenerationResult<PairPrompt> Rendered(const ServedModel& model, const std::string& query, const std::string& document) {
  if (!model.rerank_template.empty()) {
    return PairPrompt{.tokens = model.tokenizer->Encode(Fill(model.rerank_template, query, document))};
  }
  Chat chat;
  chat.messages = {{{"role", "query"}, {"content", query}}, {{"role", "document"}, {"content", document}}};
  auto tokens = ChatPrompt(model, std::move(chat));
  if (!tokens) return Forward(tokens);
  return PairPrompt{.tokens = std::move(*tokens)};
}

// With a template: cuts the document's text until the prompt fits. Each round cuts at least one token.
GenerationResult<PairPrompt> RenderedWithin(const ServedModel& model, const std::string& query,
                                            const std::string& document, const PairLimits& limits) {
  std::vector<TokenId> cut = model.tokenizer->Encode(document);
  size_t keep = limits.document ? std::min(cut.size(), *limits.document) : cut.size();
  for (bool whole = keep == cut.size();; whole = false) {
    auto made = Rendered(model, query, whole ? document : model.tokenizer->Decode(std::span(cut).first(keep)));
    if (!made || !limits.whole || made->tokens.size() <= *limits.whole || keep == 0) return made;
    keep -= std::min(keep, made->tokens.size() - *limits.whole);
  }
}

// The special tokens that the tokenizer puts around a text, and between the two texts of a pair.
PairPrompt Join(const ServedModel& model, const std::vector<TokenId>& first, const std::vector<TokenId>& second) {
  const text::Tokenizer& tokenizer = *model.tokenizer;
  PairPrompt out{.tokens = tokenizer.WithSpecials(first)};
  if (tokenizer.add_eos()) {
    const TokenId end = out.tokens.back();
    for (int32_t i = 1; i < model.pair_separators; ++i) out.tokens.push_back(end);
    if (model.pair_separators == 0) out.tokens.pop_back();
    out.second_text = static_cast<int32_t>(out.tokens.size());
    out.tokens.insert(out.tokens.end(), second.begin(), second.end());
    out.tokens.push_back(end);
    return out;
  }
  out.second_text = static_cast<int32_t>(out.tokens.size());
  out.tokens.insert(out.tokens.end(), second.begin(), second.end());
  return out;
}

}  // namespace

GenerationResult<PairPrompt> MakePairPrompt(const ServedModel& model, const std::string& query,
                                            const std::string& document, const PairLimits& limits) {
  if (!model.rerank_template.empty() || RendersPairs(model)) return RenderedWithin(model, query, document, limits);
  const text::Tokenizer& tokenizer = *model.tokenizer;
  const std::vector<TokenId> first = tokenizer.Encode(query);
  std::vector<TokenId> second = tokenizer.Encode(document);
  if (limits.document && second.size() > *limits.document) second.resize(*limits.document);
  PairPrompt joined = Join(model, first, second);
  if (limits.whole && joined.tokens.size() > *limits.whole) {
    second.resize(second.size() - std::min(second.size(), joined.tokens.size() - *limits.whole));
    joined = Join(model, first, second);
  }
  if (joined.tokens.empty()) return Refuse(Field::kPrompt, "is empty, and the model has no token to begin with");
  return joined;
}

}  // namespace inferflux::serving
