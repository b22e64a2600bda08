#include "serving/generation/chat_prompt.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <iterator>
#include <utility>

#include "serving/generation/recipe_defaults.h"
#include "text/tool_calls/past_calls.h"

namespace inferflux::serving {
namespace json = boost::json;
namespace {

using Field = GenerationError::Field;
using Kind = GenerationError::Kind;

json::object TemplateContext(const ServedModel& model, Chat chat) {
  json::object out = std::move(chat.template_variables);
  if (chat.reasoning.enabled) text::SetReasoning(*chat.reasoning.enabled, out);
  if (!chat.reasoning.effort.empty()) {
    out["reasoning_effort"] = chat.reasoning.effort;
    if (!chat.reasoning.enabled && model.reasoning) text::SetReasoning(true, out);
  }
  if (model.tool_calls) text::AdaptPastCalls(model.tool_calls->calls, chat.messages);
  if (model.reasoning) text::AdaptPastReasoning(model.reasoning->reasoning, chat.messages);
  out["messages"] = std::move(chat.messages);
  if (!chat.tools.empty()) out["tools"] = std::move(chat.tools);
  out["add_generation_prompt"] = true;
  const text::Tokenizer& tokenizer = *model.tokenizer;
  out["bos_token"] = tokenizer.bos() ? tokenizer.Text(*tokenizer.bos()) : "";
  out["eos_token"] = tokenizer.eos() ? tokenizer.Text(*tokenizer.eos()) : "";
  return out;
}

// Refuses a text that cannot fit into the context before the work of tokenising it.
GenerationStatus CheckLength(const ServedModel& model, uint64_t bytes) {
  const auto most = model.tokenizer->MostBytes(model.info.context);
  if (model.info.context <= 0 || !most || bytes <= *most) return {};
  return tl::make_unexpected(GenerationError{
      Kind::kContextLength, Field::kPrompt,
      fmt::format("the prompt has {} bytes, and the context of {} tokens holds no text of more than {} bytes", bytes,
                  model.info.context, *most)});
}

}  // namespace

GenerationResult<std::vector<text::TextSpan>> RenderChat(const ServedModel& model, Chat chat) {
  if (!model.chat_template) {
    return tl::make_unexpected(GenerationError{Kind::kNoChatTemplate, Field::kModel,
                                               fmt::format("the model '{}' has no chat template", model.id)});
  }
  ApplyRecipe(model, chat);
  const ReasoningSpec wanted = chat.reasoning;
  if (!model.reasoning && (wanted.enabled.value_or(false) || wanted.budget)) {
    return tl::make_unexpected(GenerationError{
        Kind::kUnsupported, Field::kReasoning,
        fmt::format("needs a model that reasons, and the chat template of '{}' shows no known form of reasoning: "
                    "leave the field out",
                    model.id)});
  }
  auto spans = model.chat_template->Render(TemplateContext(model, std::move(chat)));
  if (!spans) {
    return tl::make_unexpected(
        GenerationError{Kind::kTemplate, Field::kPrompt,
                        "the model's chat template does not take these messages: " + spans.error().message});
  }
  if (model.reasoning && !wanted.enabled.value_or(true)) {
    const text::ReasoningForm& form = *model.reasoning->reasoning.form;
    if (text::BeginsInside(form, *spans)) spans->push_back({.text = text::ClosingText(form), .trusted = true});
  }
  uint64_t bytes = 0;
  for (const text::TextSpan& span : *spans) bytes += span.text.size();
  if (auto fits = CheckLength(model, bytes); !fits) return Forward(fits);
  return std::move(*spans);
}

bool IsServersVariable(std::string_view name) {
  static constexpr std::string_view kNames[] = {"messages", "tools", "add_generation_prompt", "documents"};
  const std::vector<std::string> trusted = text::RenderOptions().trusted_variables;
  return std::ranges::find(kNames, name) != std::end(kNames) || std::ranges::find(trusted, name) != trusted.end();
}

GenerationResult<std::vector<TokenId>> ChatPrompt(const ServedModel& model, Chat chat) {
  const auto spans = RenderChat(model, std::move(chat));
  if (!spans) return Forward(spans);
  return model.tokenizer->Encode(*spans);
}

GenerationResult<std::vector<TokenId>> RawPromptTokens(const ServedModel& model, const RawPrompt& prompt) {
  const text::Tokenizer& tokenizer = *model.tokenizer;
  std::vector<TokenId> out;
  if (const std::string* text = std::get_if<std::string>(&prompt)) {
    if (auto fits = CheckLength(model, text->size()); !fits) return Forward(fits);
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
