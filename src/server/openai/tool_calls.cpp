#include "server/openai/tool_calls.h"

namespace inferflux::server {

ApiStatus ResolveToolCallForm(const serving::ServedModel& model, ChatRequest& request) {
  if (request.held_calls_param.empty() || !model.chat_template) return {};
  const std::string& param = request.held_calls_param;
  if (!model.tool_calls) {
    return RefuseAs("unsupported_parameter", param,
                    fmt::format("'{}' needs a model whose chat template shows how it calls tools, and the template of "
                                "'{}' shows no form that is known: leave the field out",
                                param, model.id));
  }
  text::ToolCallSpec& spec = request.grammar->tool_calls;
  spec.form = model.tool_calls->calls.form;
  spec.tokens = model.tool_calls->tokens;
  spec.several = spec.several && model.tool_calls->calls.several;
  return {};
}

std::vector<std::unique_ptr<text::ToolCallParser>> ToolCallParsers(const serving::ServedModel& model,
                                                                   const ChatRequest& request, size_t answers) {
  if (request.tools.empty()) return {};
  auto tools = std::make_shared<std::vector<text::OfferedTool>>();
  for (const OfferedFunction& function : request.functions) tools->push_back({function.name, function.parameters});
  const text::TemplateCalls hermes{.form = &text::HermesForm(), .several = true};
  const text::TemplateCalls& calls = model.tool_calls ? model.tool_calls->calls : hermes;
  std::vector<std::unique_ptr<text::ToolCallParser>> out;
  for (size_t i = 0; i < answers; ++i) {
    out.push_back(std::make_unique<text::ToolCallParser>(*calls.form, tools, calls.several));
  }
  return out;
}

}  // namespace inferflux::server
