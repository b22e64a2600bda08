#include "serving/generation/chat_prompt.h"

#include <boost/json/object.hpp>
#include <utility>

#include "text/tool_calls/past_calls.h"

namespace inferflux::serving {
namespace json = boost::json;
namespace {

using Field = GenerationError::Field;
using Kind = GenerationError::Kind;

json::object TemplateContext(const ServedModel& model, Chat chat) {
  json::object out;
  if (model.tool_calls) text::AdaptPastCalls(model.tool_calls->calls, chat.messages);
  out["messages"] = std::move(chat.messages);
  if (!chat.tools.empty()) out["tools"] = std::move(chat.tools);
  out["add_generation_prompt"] = true;
  const text::Tokenizer& tokenizer = *model.tokenizer;
  out["bos_token"] = tokenizer.bos() ? tokenizer.Text(*tokenizer.bos()) : "";
  out["eos_token"] = tokenizer.eos() ? tokenizer.Text(*tokenizer.eos()) : "";
  return out;
}

}  // namespace

GenerationResult<std::vector<TokenId>> ChatPrompt(const ServedModel& model, Chat chat) {
  if (!model.chat_template) {
    return tl::make_unexpected(GenerationError{Kind::kNoChatTemplate, Field::kModel,
                                               fmt::format("the model '{}' has no chat template", model.id)});
  }
  const auto spans = model.chat_template->Render(TemplateContext(model, std::move(chat)));
  if (!spans) {
    return tl::make_unexpected(
        GenerationError{Kind::kTemplate, Field::kPrompt,
                        "the model's chat template does not take these messages: " + spans.error().message});
  }
  return model.tokenizer->Encode(*spans);
}

GenerationResult<std::vector<TokenId>> RawPromptTokens(const ServedModel& model, const RawPrompt& prompt) {
  const text::Tokenizer& tokenizer = *model.tokenizer;
  std::vector<TokenId> out;
  if (const std::string* text = std::get_if<std::string>(&prompt)) {
    out = tokenizer.WithSpecials(tokenizer.Encode(*text));
  } else {
    out = std::get<std::vector<TokenId>>(prompt);
    for (const TokenId id : out) {
      if (id < 0 || id >= tokenizer.size()) {
        return Refuse(Field::kPrompt, "holds the token id {}, but the model's ids end at {}", id, tokenizer.size() - 1);
      }
    }
  }
  if (out.empty()) return Refuse(Field::kPrompt, "is empty, and the model has no token to begin with");
  return out;
}

}  // namespace inferflux::serving
