#include "server/tool_call_form.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <utility>

#include "server/tool_calls.h"
#include "text/grammar/tool_call_grammar.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr std::string_view kName = "look_up";
constexpr std::string_view kArguments = R"({"word":"heron"})";

// A conversation that ends with a call.
json::object ConversationWithCall() {
  const json::object tool = {
      {"type", "function"},
      {"function",
       {{"name", kName},
        {"description", "Looks a word up."},
        {"parameters", {{"type", "object"}, {"properties", {{"word", {{"type", "string"}}}}}}}}}};
  const json::object call = {
      {"id", "call00001"},  // nine letters and digits, as Mistral's templates want it
      {"type", "function"},
      {"function", {{"name", kName}, {"arguments", {{"word", "heron"}}}}},
  };
  json::object out;
  out["messages"] = {{{"role", "user"}, {"content", "What is a heron?"}},
                     {{"role", "assistant"}, {"content", ""}, {"tool_calls", json::array{call}}}};
  out["tools"] = json::array{tool};
  out["add_generation_prompt"] = false;
  out["bos_token"] = out["eos_token"] = "";
  return out;
}

}  // namespace

bool RendersToolCalls(const text::ChatTemplate& chat_template) {
  const auto spans = chat_template.Render(ConversationWithCall());
  if (!spans) return false;
  std::string rendered;
  for (const text::TextSpan& span : *spans) rendered += span.text;
  // What the template says about calls stands before the call itself.
  const size_t at = rendered.rfind(text::kToolCallOpen);
  if (at == std::string::npos) return false;
  ToolCallParser parser;
  const auto found = parser.Feed(std::string_view(rendered).substr(at));
  return found.calls.size() == 1 && found.calls[0].name == kName && found.calls[0].arguments == kArguments;
}

ApiStatus CheckToolCallForm(const routing::ServedModel& model, std::string_view param) {
  if (!model.chat_template || RendersToolCalls(*model.chat_template)) return {};
  return RefuseAs(
      "unsupported_parameter", std::string(param),
      fmt::format("'{}' needs calls in the form <tool_call>{{\"name\": ..., \"arguments\": ...}}</tool_call>, "
                  "and the model '{}' writes them otherwise or not at all, as its chat template shows: leave "
                  "the field out",
                  param, model.id));
}

}  // namespace inferflux::server
