#include "dspy/programs/react.h"

#include <algorithm>
#include <boost/json/array.hpp>

#include "dspy/python/python_text.h"
#include "dspy/signature/json_schema_check.h"

namespace inferflux::dspy {
namespace {

constexpr int kTruncations = 3;
constexpr size_t kKeysPerTurn = 4;  // thought, tool_name, tool_args, observation

std::string InBackticks(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) out += (out.empty() ? "`" : ", `") + field.name + "`";
  return out;
}

std::string Instructions(const Signature& signature, const std::vector<Tool>& tools) {
  std::string text = signature.instructions().empty() ? "" : signature.instructions() + "\n\n";
  text += fmt::format(
      "You are an Agent. In each episode, you will be given the fields {} as input. And you can see your past "
      "trajectory "
      "so far.\n"
      "Your goal is to use one or more of the supplied tools to collect any necessary information for producing {}.\n\n"
      "To do this, you will interleave next_thought, next_tool_name, and next_tool_args in each turn, and also when "
      "finishing the task.\n"
      "After each tool call, you receive a resulting observation, which gets appended to your trajectory.\n\n"
      "When writing next_thought, you may reason about the current situation and plan for future steps.\n"
      "When selecting the next_tool_name and its next_tool_args, the tool must be one of:\n\n",
      InBackticks(signature.inputs()), InBackticks(signature.outputs()));
  for (size_t i = 0; i < tools.size(); ++i) text += fmt::format("({}) {}\n", i + 1, tools[i].Describe());
  return text + "When providing `next_tool_args`, the value inside the field must be in JSON format";
}

Tool FinishTool(const Signature& signature) {
  return {.name = "finish",
          .desc = fmt::format("Marks the task as complete. That is, signals that all information for producing the "
                              "outputs, i.e. {}, are now available to be extracted.",
                              InBackticks(signature.outputs())),
          .args = {},
          .function = [](const Values&) -> Result<boost::json::value> { return boost::json::value("Completed."); }};
}

Status CheckTool(const Tool& tool, const std::vector<Tool>& before) {
  const auto same = std::ranges::find(before, tool.name, &Tool::name);
  if (tool.name.empty()) return Fail(ErrorCode::kInvalidConfig, "a tool has no name");
  if (tool.name == "finish" || same != before.end()) {
    return Fail(ErrorCode::kInvalidConfig, "the tool '{}' occurs twice", tool.name);
  }
  for (const auto& [arg, schema] : tool.args) {
    if (!schema.is_object()) {
      return FailAt(arg, Error::kNoPosition, "the argument '{}' of the tool '{}' needs a JSON schema",
                    std::string_view(arg), tool.name);
    }
    if (auto checked = CheckSchema(schema.get_object()); !checked) {
      return FailAt(arg, Error::kNoPosition, "the argument '{}' of the tool '{}': {}", std::string_view(arg), tool.name,
                    checked.error().message);
    }
  }
  return {};
}

std::string FormatTrajectory(const Adapter& adapter, const Values& trajectory) {
  SignatureBuilder builder;
  for (const auto& [key, value] : trajectory) builder.Input(std::string(key));
  const auto signature = builder.Output("x").Build();
  return signature ? adapter.FormatInputs(*signature, trajectory) : std::string();
}

}  // namespace

Result<ReAct> ReAct::Create(const Signature& signature, std::vector<Tool> tools, int max_iterations,
                            const CallSettings& settings) {
  if (max_iterations < 1) {
    return FailAt("max_iterations", Error::kNoPosition, "max_iterations is {}; it must be at least 1", max_iterations);
  }
  std::vector<Tool> all;
  for (Tool& tool : tools) {
    if (auto checked = CheckTool(tool, all); !checked) return dspy::Forward(checked);
    all.push_back(std::move(tool));
  }
  all.push_back(FinishTool(signature));
  boost::json::array names;
  for (const Tool& tool : all) names.emplace_back(tool.name);

  const Signature react = signature.WithoutOutputs()
                              .WithInstructions(Instructions(signature, all))
                              .WithInput({.name = "trajectory"})
                              .WithOutput({.name = "next_thought"})
                              .WithOutput({.name = "next_tool_name", .type = FieldType::Literal(std::move(names))})
                              .WithOutput({.name = "next_tool_args", .type = FieldType::Dict(FieldType::Any())});
  const Signature extract = signature.WithInput({.name = "trajectory"});
  return ReAct(std::move(all), max_iterations, Predict(react, settings), ChainOfThought(extract, settings));
}

Result<Prediction> ReAct::RunWith(const Module& module, const Values& inputs, Values& trajectory,
                                  const RunContext& context) const {
  const auto adapter = context.adapter ? context.adapter : CurrentSettings().adapter;
  for (int truncations = 0;; ++truncations) {
    Values all = inputs;
    all["trajectory"] = FormatTrajectory(*adapter, trajectory);
    auto prediction = module.Forward(all, context);
    const bool too_long = !prediction && prediction.error().code == ErrorCode::kContextTooLong;
    if (!too_long || truncations == kTruncations || trajectory.size() <= kKeysPerTurn) return prediction;
    for (size_t i = 0; i < kKeysPerTurn; ++i) trajectory.stable_erase(trajectory.begin());
  }
}

boost::json::value ReAct::Observe(const std::string& tool, const Values& arguments) const {
  const auto found = std::ranges::find(tools_, tool, &Tool::name);
  auto observation = found->Call(arguments);
  if (observation) return std::move(*observation);
  return boost::json::value(fmt::format("Execution error in {}: {}", tool, observation.error().message));
}

Result<Prediction> ReAct::Forward(const Values& inputs, const RunContext& context) const {
  Values trajectory;
  Usage usage;
  RunContext quiet = context;  // the turns' fields are no answer; only the last call's are handed out
  quiet.on_field = nullptr;
  for (int turn = 0; turn < max_iterations_; ++turn) {
    auto step = RunWith(react_, inputs, trajectory, quiet);
    if (!step) {
      const ErrorCode code = step.error().code;
      if (code == ErrorCode::kParseFailed || code == ErrorCode::kContextTooLong) break;
      return step;
    }
    usage += step->usage();
    const auto tool = step->Text("next_tool_name");
    if (!tool) return tl::make_unexpected(tool.error());
    const Values& arguments = step->values().at("next_tool_args").get_object();
    trajectory[fmt::format("thought_{}", turn)] = step->values().at("next_thought");
    trajectory[fmt::format("tool_name_{}", turn)] = *tool;
    trajectory[fmt::format("tool_args_{}", turn)] = arguments;
    trajectory[fmt::format("observation_{}", turn)] = Observe(*tool, arguments);
    if (*tool == "finish") break;
  }
  auto answer = RunWith(extract_, inputs, trajectory, context);
  if (!answer) return answer;
  Values values;
  values["trajectory"] = trajectory;
  for (const auto& [name, value] : answer->values()) values[name] = value;
  usage += answer->usage();
  return Prediction(std::move(values), usage);
}

}  // namespace inferflux::dspy
