#include "text/tool_calls/template_calls.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>
#include <vector>

#include "text/tool_calls/marker.h"
#include "text/tool_calls/past_calls.h"
#include "text/tool_calls/tool_call_parser.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr std::string_view kQuestion = "What bird is that?";
constexpr std::string_view kName = "look_up";
constexpr std::string_view kParameters =
    R"({"type":"object","properties":{"word":{"type":"string"},"pages":{"type":"integer"}}})";
constexpr std::string_view kArguments[] = {R"({"word":"heron","pages":3})", R"({"word":"stork","pages":4})"};

json::object Call(size_t number) {
  return {{"id", "call_0123456789abcdef0123456" + std::to_string(number)},
          {"type", "function"},
          {"function", {{"name", kName}, {"arguments", json::parse(kArguments[number])}}}};
}

constexpr std::string_view kResult = "egret";

// A conversation that ends with that many calls, or with the result of the first. Without calls: one that an answer
// follows.
json::object Conversation(size_t calls, const TemplateCalls& way, bool result = false) {
  json::array messages = {{{"role", "user"}, {"content", kQuestion}}};
  if (calls > 0) {
    json::array list;
    for (size_t i = 0; i < calls; ++i) list.push_back(Call(i));
    messages.push_back({{"role", "assistant"}, {"content", ""}, {"tool_calls", std::move(list)}});
  }
  if (result) {
    messages.push_back({{"role", "tool"}, {"tool_call_id", Call(0).at("id")}, {"content", kResult}});
  }
  AdaptPastCalls(way, messages);
  const json::object tool = {
      {"type", "function"},
      {"function", {{"name", kName}, {"description", "Looks a word up."}, {"parameters", json::parse(kParameters)}}}};
  json::object out;
  out["messages"] = std::move(messages);
  out["tools"] = json::array{tool};
  out["add_generation_prompt"] = calls == 0;
  out["bos_token"] = out["eos_token"] = "";
  return out;
}

struct Rendered {
  std::string text;
  std::string trusted;  // the part that comes from the template itself
};

std::optional<Rendered> Render(const ChatTemplate& chat_template, size_t calls, const TemplateCalls& way) {
  const auto spans = chat_template.Render(Conversation(calls, way));
  if (!spans) return std::nullopt;
  Rendered out;
  for (const TextSpan& span : *spans) {
    out.text += span.text;
    if (span.trusted) out.trusted += span.text;
  }
  return out;
}

// Whether the answer is exactly that many calls, with the template's own text around them.
bool GivesBack(const ToolCallSyntax& syntax, std::string_view answer, size_t calls) {
  static const auto tools = std::make_shared<const std::vector<OfferedTool>>(
      std::vector<OfferedTool>{{std::string(kName), std::string(kParameters)}});
  ToolCallParser parser(syntax, tools, {});
  ToolCallParser::Output found = parser.Feed(answer);
  for (FoundToolCall& call : parser.Finish().calls) found.calls.push_back(std::move(call));
  if (found.calls.size() != calls) return false;
  for (size_t i = 0; i < calls; ++i) {
    boost::system::error_code error;
    if (found.calls[i].end != FoundToolCall::End::kClosed || found.calls[i].name != kName ||
        json::parse(found.calls[i].arguments, error) != json::parse(kArguments[i])) {
      return false;
    }
  }
  return true;
}

// The end of a rendered conversation that the model would have written: the text after the question. For a bare format,
// without what the template itself puts before an answer.
std::string_view AnswerIn(std::string_view conversation, std::string_view prompt, const ToolCallSyntax& syntax) {
  if (syntax.bare) {
    return conversation.substr(
        static_cast<size_t>(std::ranges::mismatch(conversation, prompt).in1 - conversation.begin()));
  }
  const size_t question = conversation.rfind(kQuestion);
  return conversation.substr(question == std::string_view::npos ? 0 : question);
}

// Whether the template shows a result inside the message that calls. Templates without this show nothing.
bool ShowsJointResults(const ChatTemplate& chat_template, TemplateCalls way) {
  way.joint_results = true;
  const auto spans = chat_template.Render(Conversation(1, way, true));
  return spans &&
         std::ranges::any_of(*spans, [](const TextSpan& span) { return span.text.find(kResult) != std::string::npos; });
}

std::optional<TemplateCalls> RenderedAs(const ChatTemplate& chat_template, TemplateCalls way) {
  const auto prompt = Render(chat_template, 0, way);
  const auto one = Render(chat_template, 1, way);
  if (!prompt || !one) return std::nullopt;
  for (const ToolCallSyntax& syntax : ToolCallSyntaxes()) {
    if (!GivesBack(syntax, AnswerIn(one->text, prompt->text, syntax), 1)) continue;
    const auto two = Render(chat_template, 2, way);
    way.syntax = &syntax;
    way.several = two && GivesBack(syntax, AnswerIn(two->text, prompt->text, syntax), 2);
    way.joint_results = ShowsJointResults(chat_template, way);
    return way;
  }
  return std::nullopt;
}

// For a template that omits calls: the one format whose marker it names.
std::optional<TemplateCalls> NamedIn(const ChatTemplate& chat_template) {
  const auto one = Render(chat_template, 1, {});
  if (!one || one->text.find("heron") != std::string::npos) return std::nullopt;
  std::optional<TemplateCalls> out;
  for (const ToolCallSyntax& syntax : ToolCallSyntaxes()) {
    if (one->trusted.find(TrimEnd(FirstMarker(syntax))) == std::string::npos) continue;
    if (out) return std::nullopt;
    out = TemplateCalls{.syntax = &syntax, .several = syntax.list};
  }
  return out;
}

}  // namespace

std::optional<TemplateCalls> FindTemplateCalls(const ChatTemplate& chat_template) {
  for (const bool text_arguments : {false, true}) {
    for (const bool null_content : {false, true}) {
      for (const bool short_ids : {false, true}) {
        const auto found = RenderedAs(
            chat_template, {.null_content = null_content, .text_arguments = text_arguments, .short_ids = short_ids});
        if (found) return found;
      }
    }
  }
  return NamedIn(chat_template);
}

}  // namespace inferflux::text
