#include "server/openai/rerank/rerank_request.h"

#include <limits>
#include <utility>

#include "server/request/fields.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr size_t kAnyRankedText = std::numeric_limits<size_t>::max();  // only the body's size limit applies
constexpr int64_t kMostRankedTokens = 1 << 24;

// A string, or {"text": "..."}, as Cohere's and Jina's clients may send a document.
ApiResult<std::string> ReadDocument(const json::value& value, std::string_view param) {
  if (!value.is_object()) return ReadText(value, param, kAnyRankedText);
  const json::object& object = value.get_object();
  const json::value* text = object.if_contains("text");
  if (text == nullptr || object.size() != 1) {
    return Refuse(param, "must be a string, or an object with 'text' alone: only text is ranked");
  }
  return ReadText(*text, Join(param, "text"), kAnyRankedText);
}

// One text, or a list of them.
ApiResult<std::vector<std::string>> ReadTexts(const json::value& value, std::string_view param) {
  std::vector<std::string> out;
  if (!value.is_array()) {
    auto only = ReadDocument(value, param);
    if (!only) return Forward(only);
    out.push_back(std::move(*only));
    return out;
  }
  const auto list = ReadArray(value, param, kMostScoredTexts);
  if (!list) return Forward(list);
  if ((*list)->empty()) return Refuse(param, "must not be an empty list");
  for (size_t i = 0; i < (*list)->size(); ++i) {
    auto text = ReadDocument((**list)[i], fmt::format("{}[{}]", param, i));
    if (!text) return Forward(text);
    out.push_back(std::move(*text));
  }
  return out;
}

// --- the shared fields ---

ApiStatus TakeActivation(const json::value& value, std::string_view param, ScoreOptions& out) {
  return ReadBoolean(value, param).map([&](bool applied) { out.raw = !applied; });
}

ApiStatus TakeTruncate(const json::value& value, std::string_view param, ScoreOptions& out) {
  return ReadBoolean(value, param).map([&](bool cut) {
    if (cut && !out.truncate_prompt_tokens) out.truncate_prompt_tokens = -1;
  });
}

ApiStatus TakePromptTokens(const json::value& value, std::string_view param, ScoreOptions& out) {
  const auto tokens = ReadInteger(value, param, -1, kMostRankedTokens);
  if (!tokens) return Forward(tokens);
  if (*tokens == 0) return Refuse(param, "must be -1 (the model's context) or at least 1");
  out.truncate_prompt_tokens = *tokens;
  return {};
}

constexpr Field<ScoreOptions> kOptionFields[] = {
    {"model", TextField<ScoreOptions>{&ScoreOptions::model, 256}},
    {"truncate_prompt_tokens", CustomField<ScoreOptions>{TakePromptTokens}},
    {"truncate", CustomField<ScoreOptions>{TakeTruncate}},
    {"use_activation", CustomField<ScoreOptions>{TakeActivation}},
    {"activation", CustomField<ScoreOptions>{TakeActivation}},
    {"raw_scores", BooleanField<ScoreOptions>{&ScoreOptions::raw}},
    {"user", TextField<ScoreOptions>{&ScoreOptions::user, 512}},
    {"add_special_tokens", NoOpField{"true"}},
    {"truncation_side", NoOpField{"\"right\""}},
    {"truncation_direction", NoOpField{"\"Right\""}},
};

// Reads the fields of `own`, and the shared ones.
template <class T>
ApiStatus ParseWithOptions(std::span<const Field<T>> own, const json::object& body, T& out) {
  json::object rest;
  for (const auto& [key, value] : body) {
    const ApiResult<bool> taken = ParseField<T>(own, key, key, value, out);
    if (!taken) return Forward(taken);
    if (*taken) continue;
    const ApiResult<bool> shared = ParseField<ScoreOptions>(kOptionFields, key, key, value, out.options);
    if (!shared) return Forward(shared);
    if (*shared) continue;
    std::vector<std::string_view> known;
    AppendNames(own, known);
    AppendNames<ScoreOptions>(kOptionFields, known);
    return RefuseUnknown(key, known);
  }
  return {};
}

// --- rerank ---

ApiStatus TakeQuery(const json::value& value, std::string_view param, RerankRequest& out) {
  return ReadText(value, param, kAnyRankedText).map([&](std::string text) { out.query = std::move(text); });
}

ApiStatus TakeDocuments(const json::value& value, std::string_view param, RerankRequest& out) {
  if (!value.is_array()) return Refuse(param, "must be a list of strings");
  return ReadTexts(value, param).map([&](std::vector<std::string> texts) { out.documents = std::move(texts); });
}

ApiStatus TakeListOfTexts(const json::value& value, std::string_view param, RerankRequest& out) {
  out.texts = true;
  return TakeDocuments(value, param, out);
}

ApiStatus TakeReturn(const json::value& value, std::string_view param, RerankRequest& out) {
  return ReadBoolean(value, param).map([&](bool wanted) { out.return_documents = wanted; });
}

constexpr Field<RerankRequest> kRerankFields[] = {
    {"query", CustomField<RerankRequest>{TakeQuery}},
    {"documents", CustomField<RerankRequest>{TakeDocuments}},
    {"texts", CustomField<RerankRequest>{TakeListOfTexts}},
    {"top_n", IntegerField<RerankRequest>{&RerankRequest::top_n, 0, kMostRankedTokens}},
    {"return_documents", CustomField<RerankRequest>{TakeReturn}},
    {"return_text", CustomField<RerankRequest>{TakeReturn}},
    {"max_tokens_per_doc", IntegerField<RerankRequest>{&RerankRequest::max_tokens_per_doc, 1, kMostRankedTokens}},
    {"max_chunks_per_doc", NoOpField{}},
    {"rank_fields", NoOpField{"[\"text\"]"}},
};

// --- score ---

ApiStatus TakeFirst(const json::value& value, std::string_view param, ScoreRequest& out) {
  return ReadTexts(value, param).map([&](std::vector<std::string> texts) { out.first = std::move(texts); });
}

ApiStatus TakeSecond(const json::value& value, std::string_view param, ScoreRequest& out) {
  out.second_param = param;
  return ReadTexts(value, param).map([&](std::vector<std::string> texts) { out.second = std::move(texts); });
}

constexpr Field<ScoreRequest> kScoreFields[] = {
    {"text_1", CustomField<ScoreRequest>{TakeFirst}},  {"text_2", CustomField<ScoreRequest>{TakeSecond}},
    {"queries", CustomField<ScoreRequest>{TakeFirst}}, {"documents", CustomField<ScoreRequest>{TakeSecond}},
    {"data_1", CustomField<ScoreRequest>{TakeFirst}},  {"data_2", CustomField<ScoreRequest>{TakeSecond}},
    {"encoding_format", NoOpField{"\"float\""}},
};

// --- classify ---

ApiStatus TakeClassified(const json::value& value, std::string_view param, ClassifyRequest& out) {
  return ReadRawPrompts(value, param, kMostScoredTexts).map([&](std::vector<RawPrompt> texts) {
    out.input = std::move(texts);
  });
}

constexpr Field<ClassifyRequest> kClassifyFields[] = {{"input", CustomField<ClassifyRequest>{TakeClassified}}};

template <class T>
std::vector<FieldRow> RowsWithOptions(std::span<const Field<T>> own) {
  std::vector<FieldRow> out;
  AppendRows<T>(own, out);
  AppendRows<ScoreOptions>(kOptionFields, out);
  return out;
}

tl::unexpected<ApiError> MissingText(std::string_view param) {
  return RefuseAs("missing_required_parameter", param, fmt::format("'{}' is missing", param));
}

}  // namespace

ApiResult<RerankRequest> ParseRerankRequest(const json::object& body) {
  RerankRequest out;
  if (ApiStatus read = ParseWithOptions<RerankRequest>(kRerankFields, body, out); !read) return Forward(read);
  if (!out.query) return MissingText("query");
  if (out.documents.empty()) return MissingText("documents");
  return out;
}

ApiResult<ScoreRequest> ParseScoreRequest(const json::object& body) {
  ScoreRequest out;
  if (ApiStatus read = ParseWithOptions<ScoreRequest>(kScoreFields, body, out); !read) return Forward(read);
  if (out.first.empty()) return MissingText("text_1");
  if (out.second.empty()) return MissingText("text_2");
  if (out.first.size() != 1 && out.first.size() != out.second.size()) {
    return Refuse(out.second_param,
                  "has {} texts; it must have as many as there are first texts, which are {}, or the "
                  "first must be one text",
                  out.second.size(), out.first.size());
  }
  return out;
}

ApiResult<ClassifyRequest> ParseClassifyRequest(const json::object& body) {
  ClassifyRequest out;
  if (ApiStatus read = ParseWithOptions<ClassifyRequest>(kClassifyFields, body, out); !read) return Forward(read);
  if (out.input.empty()) return MissingText("input");
  return out;
}

std::vector<FieldRow> RerankFieldRows() { return RowsWithOptions<RerankRequest>(kRerankFields); }
std::vector<FieldRow> ScoreFieldRows() { return RowsWithOptions<ScoreRequest>(kScoreFields); }
std::vector<FieldRow> ClassifyFieldRows() { return RowsWithOptions<ClassifyRequest>(kClassifyFields); }

}  // namespace inferflux::server
