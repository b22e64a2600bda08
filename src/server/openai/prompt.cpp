#include "server/openai/prompt.h"

#include <boost/json/object.hpp>
#include <utility>

#include "text/tool_calls/past_calls.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

ApiError TemplateError(const Error& error) {
  return {400, "the model's chat template does not take these messages: " + error.message, "invalid_request_error",
          "messages", "invalid_value"};
}

json::object TemplateContext(const serving::ServedModel& model, ChatRequest& request) {
  json::object out;
  if (model.tool_calls) text::AdaptPastCalls(model.tool_calls->calls, request.messages);
  out["messages"] = std::move(request.messages);
  if (!request.tools.empty()) out["tools"] = request.tools;
  out["add_generation_prompt"] = true;
  const text::Tokenizer& tokenizer = *model.tokenizer;
  out["bos_token"] = tokenizer.bos() ? tokenizer.Text(*tokenizer.bos()) : "";
  out["eos_token"] = tokenizer.eos() ? tokenizer.Text(*tokenizer.eos()) : "";
  return out;
}

}  // namespace

ApiResult<std::vector<TokenId>> ChatPrompt(const serving::ServedModel& model, ChatRequest& request) {
  if (!model.chat_template) {
    return RefuseAs("no_chat_template", "model",
                    fmt::format("the model '{}' has no chat template; use /v1/completions", model.id));
  }
  const auto spans = model.chat_template->Render(TemplateContext(model, request));
  if (!spans) return tl::make_unexpected(TemplateError(spans.error()));
  return model.tokenizer->Encode(*spans);
}

ApiResult<std::vector<TokenId>> RawPromptTokens(const serving::ServedModel& model, const RawPrompt& prompt,
                                                std::string_view param) {
  const text::Tokenizer& tokenizer = *model.tokenizer;
  std::vector<TokenId> out;
  if (const std::string* text = std::get_if<std::string>(&prompt)) {
    out = tokenizer.WithSpecials(tokenizer.Encode(*text));
  } else {
    out = std::get<std::vector<TokenId>>(prompt);
    for (const TokenId id : out) {
      if (id >= tokenizer.size()) {
        return Refuse(param, "holds the token id {}, but the model's ids end at {}", id, tokenizer.size() - 1);
      }
    }
  }
  if (out.empty()) return Refuse(param, "is empty, and the model has no token to begin with");
  return out;
}

}  // namespace inferflux::server
