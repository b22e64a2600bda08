#include "serving/generation/tool_use.h"

#include <string>
#include <string_view>
#include <utility>

namespace inferflux::serving {
namespace {

using Field = GenerationError::Field;

constexpr std::string_view kNoParameters = R"({"type":"object","properties":{},"additionalProperties":false})";

}  // namespace

GenerationStatus ResolveTools(Chat& chat, GenerationSpec& spec) {
  using Kind = ToolChoice::Kind;
  if (chat.held_by) return {};
  const ToolChoice& choice = chat.tool_choice;
  if (choice.kind == Kind::kNone) {
    chat.tools.clear();
    chat.functions.clear();
  }
  const bool forced = choice.kind == Kind::kRequired || choice.kind == Kind::kFunction;
  if (forced && chat.tools.empty()) return Refuse(Field::kToolChoice, "forces a call, but there are no 'tools'");
  if (chat.tools.empty()) return {};
  if (spec.grammar) {
    return Refuse(Field::kGrammar, "leaves no room for the call of a tool; set 'tool_choice' to \"none\"");
  }
  text::ToolCallSpec calls{.forced = forced, .several = chat.parallel_tool_calls};
  if (choice.kind == Kind::kFunction) calls.several = false;
  std::optional<HeldBy> held_by;
  for (size_t i = 0; i < chat.functions.size(); ++i) {
    const OfferedFunction& function = chat.functions[i];
    if (choice.kind == Kind::kFunction && function.name != choice.function) continue;
    text::OfferedTool tool{.name = function.name, .parameters = {}};
    if (forced || function.strict) {
      tool.parameters = function.parameters.empty() ? std::string(kNoParameters) : function.parameters;
      tool.lark = function.lark;
    }
    if (function.strict && !held_by) held_by = {Field::kStrictTool, i};
    calls.tools.push_back(std::move(tool));
  }
  if (calls.tools.empty()) {
    return Refuse(Field::kToolChoice, "names '{}', which is not among the tools", choice.function);
  }
  if (!chat.parallel_tool_calls) held_by = {Field::kParallelCalls};
  if (forced) held_by = {Field::kToolChoice};
  if (!held_by) return {};
  chat.held_by = held_by;
  spec.grammar = text::GrammarSpec{.kind = text::GrammarSpec::Kind::kToolCalls, .tool_calls = std::move(calls)};
  return {};
}

GenerationStatus ResolveToolCallSyntax(const ServedModel& model, const Chat& chat, GenerationSpec& spec) {
  if (!chat.held_by || !model.chat_template) return {};
  if (!model.tool_calls) {
    return tl::make_unexpected(GenerationError{
        .kind = GenerationError::Kind::kUnsupported,
        .field = chat.held_by->field,
        .message = fmt::format("needs a model whose chat template shows how it calls tools, and the template of '{}' "
                               "shows no known syntax: leave the field out",
                               model.id),
        .index = chat.held_by->index});
  }
  text::ToolCallSpec& calls = spec.grammar->tool_calls;
  calls.syntax = model.tool_calls->calls.syntax;
  calls.tokens = model.tool_calls->tokens;
  calls.several = calls.several && model.tool_calls->calls.several;
  return {};
}

std::vector<std::unique_ptr<text::ToolCallParser>> ToolCallParsers(const ServedModel& model, const Chat& chat,
                                                                   size_t answers) {
  if (chat.tools.empty()) return {};
  auto tools = std::make_shared<std::vector<text::OfferedTool>>();
  for (const OfferedFunction& function : chat.functions) tools->push_back({function.name, function.parameters});
  const text::TemplateCalls hermes{.syntax = &text::HermesSyntax(), .several = true};
  const text::TemplateCalls& calls = model.tool_calls ? model.tool_calls->calls : hermes;
  using Kind = ToolChoice::Kind;
  const bool forced = chat.tool_choice.kind == Kind::kRequired || chat.tool_choice.kind == Kind::kFunction;
  const text::ToolCallParser::Options options{.several = calls.several, .forced = forced};
  std::vector<std::unique_ptr<text::ToolCallParser>> out;
  for (size_t i = 0; i < answers; ++i) {
    out.push_back(std::make_unique<text::ToolCallParser>(*calls.syntax, tools, options));
  }
  return out;
}

}  // namespace inferflux::serving
