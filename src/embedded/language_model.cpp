#include "embedded/language_model.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "embedded/build_call.h"
#include "embedded/loaded_model_state.h"
#include "embedded/running_call.h"

namespace inferflux::embedded {
namespace {

using dspy::LmRequest;
using dspy::LmResponse;

void Offer(const std::vector<dspy::ToolSpec>& tools, serving::Chat& chat) {
  for (const dspy::ToolSpec& tool : tools) {
    boost::json::object function{
        {"name", tool.name}, {"description", tool.description}, {"parameters", tool.parameters}};
    chat.tools.push_back(boost::json::object{{"type", "function"}, {"function", std::move(function)}});
    chat.functions.push_back(
        {.name = tool.name, .description = tool.description, .parameters = boost::json::serialize(tool.parameters)});
  }
}

Result<dspy::ToolCall> ReadCall(const text::FoundToolCall& call) {
  boost::system::error_code failed;
  const auto arguments = boost::json::parse(call.arguments, failed);
  if (failed || !arguments.is_object()) {
    return Refuse({.code = ErrorCode::kParseFailed,
                   .message = fmt::format("the model called the tool '{}' with arguments that are no JSON object: {}",
                                          call.name, call.arguments)});
  }
  return dspy::ToolCall{.name = call.name, .arguments = arguments.get_object()};
}

class EngineLm final : public dspy::LoadedModel {
 public:
  explicit EngineLm(std::shared_ptr<LoadedModelState> state) : state_(std::move(state)) {}

  std::string_view name() const override { return state_->info.name; }
  const LoadOptions& load_options() const override { return state_->options; }
  dspy::LmTraits traits() const override {
    return {.chat_template = state_->info.chat,
            .constraints = state_->model->capabilities.structured_output,
            .tools = state_->info.chat && state_->model->tool_calls != nullptr};
  }

  Result<LmResponse> Generate(const LmRequest& request) override {
    const GenerateOptions options{
        .sampling = request.sampling, .constraint = request.constraint, .cancel = request.cancel};
    if (auto checked = CheckOptions(options, state_->options); !checked) return Forward(checked);
    auto built = Build(request, options);
    if (!built) return Forward(built);
    auto call = RunningCall::Start(state_, std::move(*built), {.cancel = request.cancel, .deadline = request.deadline});
    if (!call) return Forward(call);
    while (true) {
      const auto piece = (*call)->Next();
      if (!piece) return Forward(piece);
      if (!*piece) break;
      if (request.on_text) request.on_text(**piece);
    }
    return Complete(**call);
  }

 private:
  Result<serving::Generation> Build(const LmRequest& request, const GenerateOptions& options) const {
    if (request.messages.empty()) return BuildCall(*state_, serving::RawPrompt(request.prompt), options);
    serving::Chat chat = ToChat(request.messages);
    Offer(request.tools, chat);
    return BuildCall(*state_, std::move(chat), options);
  }

  static Result<LmResponse> Complete(const RunningCall& call) {
    const Reply& reply = call.reply();
    LmResponse out{.text = reply.text, .tool_calls = {}, .usage = reply.usage, .finish = reply.finish};
    for (const text::FoundToolCall& found : call.tool_calls()) {
      auto read = ReadCall(found);
      if (!read) return Forward(read);
      out.tool_calls.push_back(std::move(*read));
    }
    return out;
  }

  std::shared_ptr<LoadedModelState> state_;
};

}  // namespace

std::shared_ptr<dspy::LoadedModel> LanguageModel(const Engine& engine) {
  return std::make_shared<EngineLm>(engine.state());
}

}  // namespace inferflux::embedded
