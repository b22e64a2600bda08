#include "server/openai/llama_server/tokenize_endpoints.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/openai/chat_request.h"
#include "server/openai/llama_server/answer_body.h"
#include "server/reply/logprob_entry.h"
#include "server/request/fields.h"
#include "server/request/find_model.h"
#include "server/request/json_body.h"
#include "serving/generation/chat_prompt.h"
#include "text/text_span.h"
#include "unicode/utf8.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr size_t kAnyTokenizeText = std::numeric_limits<size_t>::max();  // only the body's size limit applies
constexpr size_t kMostTokens = 1 << 24;

struct TokenizeRequest {
  std::string model;
  std::optional<std::string> text;
  std::optional<bool> specials;  // none: vLLM's `prompt` gets them, llama-server's `content` does not
  bool is_prompt = false;
  bool parse_special = false;
  bool pieces = false;
  bool strings = false;
};

ApiStatus TakeTokenizeContent(const json::value& value, std::string_view param, TokenizeRequest& out) {
  return ReadText(value, param, kAnyTokenizeText).map([&](std::string text) { out.text = std::move(text); });
}

ApiStatus TakeTokenizePrompt(const json::value& value, std::string_view param, TokenizeRequest& out) {
  out.is_prompt = true;
  return TakeTokenizeContent(value, param, out);
}

ApiStatus TakeSpecials(const json::value& value, std::string_view param, TokenizeRequest& out) {
  return ReadBoolean(value, param).map([&](bool specials) { out.specials = specials; });
}

constexpr Field<TokenizeRequest> kTokenizeFields[] = {
    {"content", CustomField<TokenizeRequest>{TakeTokenizeContent}},
    {"prompt", CustomField<TokenizeRequest>{TakeTokenizePrompt}},
    {"add_special", CustomField<TokenizeRequest>{TakeSpecials}},
    {"add_special_tokens", CustomField<TokenizeRequest>{TakeSpecials}},
    {"parse_special", BooleanField<TokenizeRequest>{&TokenizeRequest::parse_special}},
    {"with_pieces", BooleanField<TokenizeRequest>{&TokenizeRequest::pieces}},
    {"return_token_strs", BooleanField<TokenizeRequest>{&TokenizeRequest::strings}},
    {"add_generation_prompt", NoOpField{"true"}},
    {"continue_final_message", NoOpField{"false"}},
};
constexpr Field<TokenizeRequest> kTokenizeModelField[] = {
    {"model", TextField<TokenizeRequest>{&TokenizeRequest::model, 256}}};

using Model = std::shared_ptr<const serving::ServedModel>;

// Renders the chat of a body in the format of /v1/chat/completions.
ApiResult<std::pair<Model, std::vector<text::TextSpan>>> RenderBody(const Services& services,
                                                                    const json::object& body) {
  auto chat = ParseChatRequest(body);
  if (!chat) return Forward(chat);
  constexpr serving::Feature kNeeds[] = {serving::Feature::kChat};
  auto model = FindModel(services, chat->model, kNeeds);
  if (!model) return Forward(model);
  auto spans = serving::RenderChat(**model, std::move(chat->chat));
  if (!spans) return tl::make_unexpected(FromGeneration(std::move(spans.error()), *chat, "messages"));
  return std::pair(std::move(*model), std::move(*spans));
}

std::vector<TokenId> TokensOf(const text::Tokenizer& tokenizer, const TokenizeRequest& asked) {
  const text::TextSpan span{.text = *asked.text, .trusted = asked.parse_special};
  std::vector<TokenId> out = tokenizer.Encode(std::span(&span, 1));
  return asked.specials.value_or(asked.is_prompt) ? tokenizer.WithSpecials(std::move(out)) : out;
}

// Bytes that are not UTF-8 by themselves are listed, as llama-server does it.
json::value PieceOf(const text::Tokenizer& tokenizer, TokenId id) {
  const std::string_view bytes = tokenizer.Bytes(id, true);
  if (PrintableToken(bytes) == bytes) return json::string(bytes);
  json::array out;
  for (const char byte : bytes) out.push_back(static_cast<uint8_t>(byte));
  return out;
}

json::object DescribeTokens(const serving::ServedModel& model, const std::vector<TokenId>& tokens,
                            const TokenizeRequest& asked) {
  json::array ids, strings;
  for (const TokenId id : tokens) {
    if (asked.pieces) {
      ids.push_back({{"id", id}, {"piece", PieceOf(*model.tokenizer, id)}});
    } else {
      ids.push_back(id);
    }
    if (asked.strings) strings.push_back(json::string(model.tokenizer->Text(id)));
  }
  json::object out;
  out["tokens"] = std::move(ids);
  out["count"] = tokens.size();
  out["max_model_len"] = model.info.context;
  out["token_strs"] = asked.strings ? json::value(std::move(strings)) : json::value(nullptr);
  return out;
}

ApiResult<json::value> TokenizeBody(const Services& services, const net::Request& request) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  TokenizeRequest asked;
  json::object rest;
  for (const auto& [key, value] : *body) {
    const ApiResult<bool> taken = ParseField<TokenizeRequest>(kTokenizeFields, key, key, value, asked);
    if (!taken) return Forward(taken);
    if (!*taken) rest[key] = value;
  }
  if (!asked.text) {
    if (!rest.contains("messages")) {
      return RefuseAs("missing_required_parameter", "prompt", "'prompt', 'content' or 'messages' is missing");
    }
    const auto rendered = RenderBody(services, rest);
    if (!rendered) return Forward(rendered);
    const auto& [model, spans] = *rendered;
    return DescribeTokens(*model, model->tokenizer->Encode(spans), asked);
  }
  if (ApiStatus taken = ParseObject<TokenizeRequest>(kTokenizeModelField, "", rest, asked); !taken) {
    return Forward(taken);
  }
  const auto model = FindModel(services, asked.model, {});
  if (!model) return Forward(model);
  return DescribeTokens(**model, TokensOf(*(*model)->tokenizer, asked), asked);
}

struct DetokenizeRequest {
  std::string model;
  std::vector<TokenId> tokens;
};

ApiStatus TakeTokens(const json::value& value, std::string_view param, DetokenizeRequest& out) {
  const auto list = ReadArray(value, param, kMostTokens);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const auto id = ReadInteger((**list)[i], fmt::format("{}[{}]", param, i), 0, std::numeric_limits<TokenId>::max());
    if (!id) return Forward(id);
    out.tokens.push_back(static_cast<TokenId>(*id));
  }
  return {};
}

constexpr Field<DetokenizeRequest> kDetokenizeFields[] = {
    {"model", TextField<DetokenizeRequest>{&DetokenizeRequest::model, 256}},
    {"tokens", CustomField<DetokenizeRequest>{TakeTokens}},
};

ApiResult<json::value> DetokenizeBody(const Services& services, const net::Request& request) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  DetokenizeRequest asked;
  if (ApiStatus taken = ParseObject<DetokenizeRequest>(kDetokenizeFields, "", *body, asked); !taken) {
    return Forward(taken);
  }
  if (!body->contains("tokens")) return RefuseAs("missing_required_parameter", "tokens", "'tokens' is missing");
  const auto model = FindModel(services, asked.model, {});
  if (!model) return Forward(model);
  const text::Tokenizer& tokenizer = *(*model)->tokenizer;
  std::string bytes;
  for (size_t i = 0; i < asked.tokens.size(); ++i) {
    const TokenId id = asked.tokens[i];
    if (id >= tokenizer.size()) {
      return Refuse(fmt::format("tokens[{}]", i), "is {}, but the model's ids end at {}", id, tokenizer.size() - 1);
    }
    bytes += tokenizer.Bytes(id, true);
  }
  const std::string text = PrintableToken(bytes);
  return json::object{{"content", text}, {"prompt", text}};
}

ApiResult<json::value> TemplateBody(const Services& services, const net::Request& request) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  const auto rendered = RenderBody(services, *body);
  if (!rendered) return Forward(rendered);
  std::string prompt;
  for (const text::TextSpan& span : rendered->second) prompt += span.text;
  return json::object{{"prompt", std::move(prompt)}};
}

ApiResult<json::value> TokenizerBody(const Services& services, const net::Request& request) {
  const auto id = request.query.find("model");
  const auto model = FindModel(services, id == request.query.end() ? "" : id->second, {});
  if (!model) return Forward(model);
  const text::Tokenizer& tokenizer = *(*model)->tokenizer;
  const auto text = [&](std::optional<TokenId> token) -> json::value {
    return token ? json::value(json::string(tokenizer.Text(*token))) : json::value(nullptr);
  };
  json::object out;
  out["tokenizer_class"] = "PreTrainedTokenizerFast";
  out["vocab_size"] = tokenizer.size();
  out["model_max_length"] = (*model)->info.context;
  out["bos_token"] = text(tokenizer.bos());
  out["eos_token"] = text(tokenizer.eos());
  out["pad_token"] = text(tokenizer.pad());
  out["add_bos_token"] = tokenizer.add_bos();
  out["add_eos_token"] = tokenizer.add_eos();
  out["chat_template"] =
      (*model)->chat_template ? json::value((*model)->chat_template->source()) : json::value(nullptr);
  return out;
}

}  // namespace

asio::awaitable<void> Tokenize(Services& services, const Caller& caller, const net::Request& request,
                               net::ResponseWriter& writer) {
  return AnswerBody(TokenizeBody, services, caller, request, writer);
}

asio::awaitable<void> Detokenize(Services& services, const Caller& caller, const net::Request& request,
                                 net::ResponseWriter& writer) {
  return AnswerBody(DetokenizeBody, services, caller, request, writer);
}

asio::awaitable<void> ApplyTemplate(Services& services, const Caller& caller, const net::Request& request,
                                    net::ResponseWriter& writer) {
  return AnswerBody(TemplateBody, services, caller, request, writer);
}

asio::awaitable<void> TokenizerInfo(Services& services, const Caller& caller, const net::Request& request,
                                    net::ResponseWriter& writer) {
  return AnswerBody(TokenizerBody, services, caller, request, writer);
}

std::vector<FieldRow> TokenizeFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<TokenizeRequest>(kTokenizeFields, out);
  AppendRows<TokenizeRequest>(kTokenizeModelField, out);
  return out;
}

}  // namespace inferflux::server
