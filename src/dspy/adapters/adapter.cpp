#include "dspy/adapters/adapter.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>

#include "base/nearest.h"
#include "dspy/lm/plain_prompt.h"
#include "dspy/signature/convert.h"

namespace inferflux::dspy {
namespace {

constexpr std::string_view kIncomplete =
    "This is an example of the task, though some input or output fields are not supplied.";
constexpr std::string_view kMissing = "Not supplied for this particular example. ";

bool HasField(const std::vector<Field>& fields, const Values& values) {
  return std::ranges::any_of(fields, [&](const Field& field) { return values.contains(field.name); });
}

bool IsComplete(const Signature& signature, const Values& values) {
  const auto there = [&](const Field& field) {
    const auto* value = values.if_contains(field.name);
    return value && !value->is_null();
  };
  return std::ranges::all_of(signature.inputs(), there) && std::ranges::all_of(signature.outputs(), there);
}

Status CheckInputs(const Signature& signature, const Values& inputs) {
  std::vector<std::string_view> names;
  std::string all;
  for (const Field& field : signature.inputs()) {
    names.push_back(field.name);
    all += (all.empty() ? "" : ", ") + field.name;
    const auto* value = inputs.if_contains(field.name);
    if (!value && field.type.AllowsNone()) continue;
    if (!value && field.type.kind == FieldType::Kind::kHistory) continue;
    if (!value) {
      return FailAt(field.name, Error::kNoPosition, "the input '{}' ({}) is missing; '{}' takes: {}", field.name,
                    NameOf(field.type), signature.ToString(), all);
    }
    if (auto checked = CheckInput(field, *value); !checked) return checked;
  }
  for (const auto& [key, value] : inputs) {
    if (signature.FindInput(key)) continue;
    return FailAt(key, Error::kNoPosition, "'{}' is no input of '{}'{}", std::string_view(key), signature.ToString(),
                  Suggestion(key, names));
  }
  return {};
}

const Field* HistoryField(const Signature& signature) {
  const auto found = std::ranges::find_if(
      signature.inputs(), [](const Field& field) { return field.type.kind == FieldType::Kind::kHistory; });
  return found == signature.inputs().end() ? nullptr : &*found;
}

// The turns of a history that are objects; others are none.
std::vector<Values> TurnsOf(const Values& inputs, const std::string& name) {
  std::vector<Values> turns;
  const auto* history = inputs.if_contains(name);
  const auto* messages = history && history->is_object() ? history->get_object().if_contains("messages") : nullptr;
  if (!messages || !messages->is_array()) return turns;
  for (const auto& turn : messages->get_array()) {
    if (turn.is_object()) turns.push_back(turn.get_object());
  }
  return turns;
}

// Pieces of one field that come together are handed out together.
class Gather {
 public:
  explicit Gather(const OnField& on_field) : on_field_(on_field) {}

  void Add(std::string_view field, std::string_view text) {
    if (field != delta_.field) Flush();
    delta_.field = field;
    delta_.text += text;
  }
  void Flush() {
    if (!delta_.text.empty()) on_field_(delta_);
    delta_ = {};
  }

 private:
  const OnField& on_field_;
  FieldDelta delta_;
};

}  // namespace

std::vector<Message> Adapter::Format(const Signature& signature, std::span<const Example> demos,
                                     const Values& inputs) const {
  std::vector<Message> messages = {{"system", SystemMessage(signature)}};
  const boost::json::value missing(kMissing);
  for (const Example& demo : demos) {
    if (IsComplete(signature, demo.values())) continue;
    if (!HasField(signature.inputs(), demo.values()) || !HasField(signature.outputs(), demo.values())) continue;
    messages.push_back({"user", UserMessage(signature, demo.values(), kIncomplete, false)});
    messages.push_back({"assistant", AssistantMessage(signature, demo.values(), missing)});
  }
  for (const Example& demo : demos) {
    if (!IsComplete(signature, demo.values())) continue;
    messages.push_back({"user", UserMessage(signature, demo.values(), "", false)});
    messages.push_back({"assistant", AssistantMessage(signature, demo.values(), missing)});
  }
  const Field* history = HistoryField(signature);
  const Signature asked = history ? signature.Without(history->name) : signature;
  if (history) {
    for (const Values& turn : TurnsOf(inputs, history->name)) {
      std::string user = UserMessage(asked, turn, "", HasField(asked.inputs(), turn));
      if (!user.empty()) messages.push_back({"user", std::move(user)});
      messages.push_back({"assistant", AssistantMessage(asked, turn, nullptr)});
    }
  }
  std::string request = UserMessage(asked, inputs, "", true);
  if (!request.empty()) messages.push_back({"user", std::move(request)});
  return messages;
}

Result<LmRequest> Adapter::Prepare(LM& lm, const Signature& signature, const Values& inputs,
                                   const CallOptions& options) const {
  if (auto checked = CheckInputs(signature, inputs); !checked) return Forward(checked);
  const CallSettings settings = Merge(options.settings, defaults());
  if (auto checked = Check(settings); !checked) return Forward(checked);
  const LmTraits traits = lm.traits();
  if (!options.tools.empty() && !traits.tools) {
    return Fail(ErrorCode::kInvalidConfig,
                "the model '{}' has no notation for calls of tools; use ReAct, which describes "
                "tools in the prompt",
                lm.name());
  }
  LmRequest request{.messages = Format(signature, options.demos, inputs), .tools = options.tools};
  request.messages.insert(request.messages.end(), options.appended.begin(), options.appended.end());
  request.sampling = settings.sampling;
  request.cancel = options.cancel;
  if (settings.timeout) request.deadline = std::chrono::steady_clock::now() + *settings.timeout;

  const Constrain constrain = settings.constrain.value_or(Constrain::kAuto);
  // A call of a tool is no answer in the adapter's form.
  const bool possible = traits.constraints && options.tools.empty();
  if (constrain == Constrain::kOn && !possible) {
    return FailAt("constrain", Error::kNoPosition, "constrain is on, and {}",
                  options.tools.empty() ? fmt::format("the model '{}' honours no constraints", lm.name())
                                        : "a call with tools cannot be constrained");
  }
  if (constrain != Constrain::kOff && possible) {
    auto constraint = ConstraintFor(signature);
    if (!constraint && constrain == Constrain::kOn) return Forward(constraint);
    if (constraint) request.constraint = std::move(*constraint);
  }
  UseTemplateOrPrompt(traits, request);
  return request;
}

Result<Prediction> Adapter::Run(LM& lm, const Signature& signature, const LmRequest& request,
                                const CallOptions& options) const {
  if (options.cancel.stop_requested()) return Fail(ErrorCode::kCancelled, "the call was cancelled before it began");
  auto response = lm.Generate(request);
  if (!response) return Forward(response);
  if (options.attempt) *options.attempt = {.text = response->text, .usage = response->usage};
  if (!response->tool_calls.empty()) {
    Prediction prediction({}, response->usage);
    prediction.tool_calls = std::move(response->tool_calls);
    return prediction;
  }
  auto values = ParseResponse(signature, response->text);
  if (!values && response->finish == FinishReason::kLength) {
    values.error().message += "; the answer was cut at max_tokens or at the context's end";
  }
  if (!values) return Forward(values);
  return Prediction(std::move(*values), response->usage);
}

Result<Prediction> Adapter::Call(LM& lm, const Signature& signature, const Values& inputs,
                                 const CallOptions& options) const {
  auto request = Prepare(lm, signature, inputs, options);
  if (!request) return Forward(request);
  return Run(lm, signature, *request, options);
}

Result<Prediction> Adapter::Stream(LM& lm, const Signature& signature, const Values& inputs, const CallOptions& options,
                                   const OnField& on_field) const {
  auto request = Prepare(lm, signature, inputs, options);
  if (!request) return Forward(request);
  const auto stream = NewFieldStream(signature);
  Gather gather(on_field);
  const FieldStream::Emit emit = [&](std::string_view field, std::string_view text) { gather.Add(field, text); };
  request->on_text = [&](std::string_view piece) {
    stream->Feed(piece, emit);
    gather.Flush();
  };
  auto prediction = Run(lm, signature, *request, options);
  if (!prediction) return prediction;
  stream->Finish(emit);
  gather.Flush();
  return prediction;
}

}  // namespace inferflux::dspy
