#include "text/reasoning/template_reasoning.h"

#include <boost/json/parse.hpp>
#include <string>

#include "text/tool_calls/marker.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr std::string_view kUserText = "What bird is that?";
constexpr std::string_view kThought = "long legs by the water";
constexpr std::string_view kReply = "egret";
constexpr std::string_view kKeys[] = {"reasoning_content", "thinking", "reasoning"};

json::object User() { return {{"role", "user"}, {"content", kUserText}}; }

// The texts of a rendered conversation, or none if the template refuses it.
std::optional<std::string> RenderText(const ChatTemplate& chat_template, json::array messages,
                                      std::optional<bool> enabled, bool prompt) {
  json::object context;
  context["messages"] = std::move(messages);
  context["add_generation_prompt"] = prompt;
  context["bos_token"] = context["eos_token"] = "";
  if (enabled) SetReasoning(*enabled, context);
  const auto spans = chat_template.Render(context);
  if (!spans) return std::nullopt;
  std::string out;
  for (const TextSpan& span : *spans) out += span.text;
  return out;
}

// The form whose markers stand directly around `thought`.
const ReasoningForm* FormAround(std::string_view text, std::string_view thought) {
  const size_t at = text.find(thought);
  if (at == std::string_view::npos) return nullptr;
  const std::string_view before = TrimEnd(text.substr(0, at));
  for (const ReasoningForm& form : ReasoningForms()) {
    if (before.ends_with(TrimEnd(form.opens)) && MatchMarker(text, at + thought.size(), form.closes).whole()) {
      return &form;
    }
  }
  return nullptr;
}

// A template that shows the reasoning of past answers, perhaps only beside a tool call.
std::optional<TemplateReasoning> ShownInHistory(const ChatTemplate& chat_template) {
  for (const std::string_view key : kKeys) {
    for (const bool calls : {false, true}) {
      json::object answer = {{"role", "assistant"}, {"content", calls ? "" : kReply}};
      answer[key] = kThought;
      if (calls) {
        const json::object function = {{"name", "look_up"}, {"arguments", json::object{{"word", "heron"}}}};
        const json::object call = {{"id", "abcdefgh1"}, {"type", "function"}, {"function", function}};
        answer["tool_calls"] = json::array{json::value(call)};
      }
      json::array messages;
      messages.push_back(User());
      messages.push_back(std::move(answer));
      const auto text = RenderText(chat_template, std::move(messages), true, false);
      if (!text) continue;
      if (const ReasoningForm* form = FormAround(*text, kThought)) return TemplateReasoning{form, key};
    }
  }
  return std::nullopt;
}

// A template whose prompt ends with an opening marker, or with a closing one if reasoning is off.
const ReasoningForm* ShownInPrompt(const ChatTemplate& chat_template) {
  for (const std::optional<bool> enabled : {std::optional<bool>(true), std::optional<bool>(), std::optional(false)}) {
    const auto text = RenderText(chat_template, {User()}, enabled, true);
    if (!text) continue;
    const std::string_view end = TrimEnd(*text);
    for (const ReasoningForm& form : ReasoningForms()) {
      if (end.ends_with(TrimEnd(form.opens)) || end.ends_with(form.closes)) return &form;
    }
  }
  return nullptr;
}

// A template that cuts reasoning out of past answers.
const ReasoningForm* CutFromHistory(const ChatTemplate& chat_template) {
  for (const ReasoningForm& form : ReasoningForms()) {
    const std::string content =
        std::string(form.opens) + std::string(kThought) + std::string(form.closes) + "\n\n" + std::string(kReply);
    json::array messages;
    messages.push_back(User());
    messages.push_back({{"role", "assistant"}, {"content", content}});
    messages.push_back(User());
    messages.push_back({{"role", "assistant"}, {"content", kReply}});  // some keep the last answer whole
    messages.push_back(User());
    const auto text = RenderText(chat_template, std::move(messages), std::nullopt, true);
    if (text && text->find(kReply) != std::string::npos && text->find(kThought) == std::string::npos) return &form;
  }
  return nullptr;
}

}  // namespace

std::optional<TemplateReasoning> FindTemplateReasoning(const ChatTemplate& chat_template) {
  if (auto shown = ShownInHistory(chat_template)) return shown;
  const ReasoningForm* form = ShownInPrompt(chat_template);
  if (form == nullptr) form = CutFromHistory(chat_template);
  if (form == nullptr) return std::nullopt;
  return TemplateReasoning{.form = form};
}

void SetReasoning(bool enabled, json::object& variables) {
  variables["enable_thinking"] = enabled;
  variables["thinking"] = enabled;
  variables["thinking_mode"] = enabled ? "enabled" : "disabled";
  if (!enabled) variables["thinking_budget"] = 0;
}

void AdaptPastReasoning(const TemplateReasoning& reasoning, json::array& messages) {
  if (reasoning.key == "reasoning_content") return;
  for (json::value& value : messages) {
    json::object& message = value.as_object();
    json::value* found = message.if_contains("reasoning_content");
    if (found == nullptr) continue;
    json::value thought = std::move(*found);
    message.erase("reasoning_content");
    message[reasoning.key] = std::move(thought);
  }
}

bool BeginsInside(const ReasoningForm& form, std::span<const TextSpan> prompt) {
  std::string tail;  // trusted text at the end of the prompt
  for (size_t i = prompt.size(); i > 0 && prompt[i - 1].trusted && tail.size() < 256; --i) {
    tail.insert(0, prompt[i - 1].text);
  }
  return TrimEnd(tail).ends_with(TrimEnd(form.opens));
}

}  // namespace inferflux::text
