#include "server/openai/fields/generation_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <limits>
#include <utility>

#include "server/openai/fields/grammar_fields.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

using Type = IgnoredField::Type;

ApiStatus TakeStop(const json::value& value, std::string_view param, GenerationFields& out) {
  const auto add = [&](const json::value& text, const std::string& name) -> ApiStatus {
    ApiResult<std::string> stop = ReadText(text, name, kMaxStopBytes);
    if (!stop) return Forward(stop);
    if (!stop->empty()) out.stop.push_back(std::move(*stop));  // an empty one stops nothing, as in other servers
    return {};
  };
  if (value.is_string()) return add(value, std::string(param));
  const ApiResult<const json::array*> list = ReadArray(value, param, kMaxStops);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    if (ApiStatus added = add((**list)[i], fmt::format("{}[{}]", param, i)); !added) return added;
  }
  return {};
}

ApiStatus TakeStreamOptions(const json::value& value, std::string_view param, GenerationFields& out) {
  static constexpr Field<GenerationFields> kFields[] = {
      {"include_usage", BooleanField<GenerationFields>{&GenerationFields::include_usage}},
      {"continuous_usage_stats", BooleanField<GenerationFields>{&GenerationFields::continuous_usage}},
      {"include_obfuscation", IgnoredField{IgnoredField::Type::kBoolean, "no chunk is padded"}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  out.has_stream_options = true;
  return ParseObject<GenerationFields>(kFields, param, **object, out);
}

struct SpeculativeFields {
  std::string type;
  std::optional<int64_t> max_tokens;
};

ApiStatus TakeSpeculative(const json::value& value, std::string_view param, GenerationFields& out) {
  static constexpr Field<SpeculativeFields> kFields[] = {
      {"type", TextField<SpeculativeFields>{&SpeculativeFields::type, 64}},
      {"max_tokens", IntegerField<SpeculativeFields>{&SpeculativeFields::max_tokens, 1, scheduler::kMaxDraftTokens}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  SpeculativeFields fields;
  if (ApiStatus taken = ParseObject<SpeculativeFields>(kFields, param, **object, fields); !taken) return taken;
  using Kind = scheduler::Speculation::Kind;
  scheduler::Speculation& speculation = out.speculation.emplace();
  if (fields.type == "prompt_lookup") {
    speculation.kind = Kind::kPromptLookup;
  } else if (fields.type == "draft") {
    speculation.kind = Kind::kDraft;
  } else if (fields.type != "none") {
    return Refuse(Join(param, "type"), "must be \"none\", \"prompt_lookup\" or \"draft\"");
  }
  speculation.max_tokens = static_cast<int32_t>(fields.max_tokens.value_or(speculation.max_tokens));
  return {};
}

ApiStatus TakeMaxTokens(const json::value& value, std::string_view param, GenerationFields& out) {
  return ReadMaxTokens(value, param).map([&](int32_t count) { out.max_tokens = count; });
}

// As in vLLM, lower is served first. The scheduler serves higher first, so the sign is flipped.
ApiStatus TakePriority(const json::value& value, std::string_view param, GenerationFields& out) {
  const auto priority = ReadInteger(value, param, -kMaxPriority, kMaxPriority);
  if (!priority) return Forward(priority);
  out.priority = -static_cast<int32_t>(*priority);
  return {};
}

// The id is part of a path in /v1/sessions.
ApiStatus TakeSessionId(const json::value& value, std::string_view param, GenerationFields& out) {
  ApiResult<std::string> id = ReadText(value, param, 128);
  if (!id) return Forward(id);
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  if (id->empty() || !std::ranges::all_of(*id, plain)) {
    return Refuse(param, "must be 1 to 128 letters, digits, '-', '_' and '.'");
  }
  out.session_id = std::move(*id);
  return {};
}

constexpr Field<GenerationFields> kGenerationFields[] = {
    {"model", TextField<GenerationFields>{&GenerationFields::model, 256}},
    {"max_tokens", CustomField<GenerationFields>{TakeMaxTokens}},
    {"stop", CustomField<GenerationFields>{TakeStop}},
    {"stream", BooleanField<GenerationFields>{&GenerationFields::stream}},
    {"stream_options", CustomField<GenerationFields>{TakeStreamOptions}},
    {"n", CountField<GenerationFields>{&GenerationFields::choices, 1, kMaxChoices}},
    {"user", TextField<GenerationFields>{&GenerationFields::user, 512}},
    {"speculative", CustomField<GenerationFields>{TakeSpeculative}},
    {"session_id", CustomField<GenerationFields>{TakeSessionId}},
    {"session_ttl", IntegerField<GenerationFields>{&GenerationFields::session_ttl, 1, kMaxSessionSeconds}},
    {"priority", CustomField<GenerationFields>{TakePriority}},
    {"timeout", NumberField<GenerationFields>{&GenerationFields::timeout, kMinTimeout, kMaxTimeout}},
    {"response_format", CustomField<GenerationFields>{TakeResponseFormat}},
    {"grammar", CustomField<GenerationFields>{TakeGrammar}},
    {"structured_outputs", CustomField<GenerationFields>{TakeStructuredOutputs}},
    {"guided_grammar", CustomField<GenerationFields>{TakeGrammar}},
    {"guided_decoding_backend", IgnoredField{Type::kText, "there is one engine of grammars, with all notations"}},
    {"ignore_eos", BooleanField<GenerationFields>{&GenerationFields::ignore_eos}},
    {"prompt_cache_key", TextField<GenerationFields>{&GenerationFields::prompt_cache_key, 512}},
    {"prompt_cache_retention", IgnoredField{Type::kText, "the server's own settings decide how long prompts are kept"}},
    {"safety_identifier", IgnoredField{Type::kText, "no answer depends on it"}},
    {"service_tier", IgnoredField{Type::kText, "there is one tier; see `priority`"}},
    {"store", IgnoredField{Type::kBoolean, "completions are not kept"}},
    {"metadata", IgnoredField{Type::kObject, "it labels stored completions, and none is kept"}},
};

}  // namespace

std::span<const Field<GenerationFields>> GenerationFieldTable() { return kGenerationFields; }

ApiResult<int32_t> ReadMaxTokens(const json::value& value, std::string_view param) {
  const auto count = ReadInteger(value, param, -1, std::numeric_limits<int64_t>::max());
  if (!count) return Forward(count);
  if (*count == 0) return Refuse(param, "must be at least 1, or -1 for the rest of the context, but is 0");
  if (*count < 0 || *count > kMaxTokensAsked) return kMaxTokensAsked;
  return static_cast<int32_t>(*count);
}

ApiStatus CheckTogether(const GenerationFields& fields) {
  if (fields.has_stream_options && !fields.stream) return Refuse("stream_options", "needs 'stream' to be true");
  if (fields.session_ttl && fields.session_id.empty()) return Refuse("session_ttl", "needs a 'session_id'");
  if (!fields.session_id.empty() && fields.choices > 1) {
    return Refuse("session_id", "goes with one choice: 'n' must be 1");
  }
  return CheckSampling(fields.sampling);
}

ApiError FromGeneration(serving::GenerationError error, const GenerationFields& fields, std::string_view prompt) {
  using Field = serving::GenerationError::Field;
  const auto name = [&]() -> std::string {
    switch (error.field) {
      case Field::kModel:
        return "model";
      case Field::kPrompt:
        return std::string(prompt);
      case Field::kGrammar:
        return fields.grammar_param;
      case Field::kSpeculation:
        return "speculative.type";
      case Field::kLogitBias:
        return "logit_bias";
      case Field::kPromptLogprobs:
        return "prompt_logprobs";
      case Field::kLogprobs:
        return "logprobs";
      case Field::kTools:
        return "tools";
      case Field::kToolChoice:
        return "tool_choice";
      case Field::kParallelCalls:
        return "parallel_tool_calls";
      case Field::kStrictTool:
        return fmt::format("tools[{}].function.strict", error.index);
      case Field::kReasoning:
        return fields.reasoning_param;
    }
    return {};
  };
  if (error.kind == serving::GenerationError::Kind::kNoChatTemplate) error.message += "; use /v1/completions";
  return FromGeneration(std::move(error), name());
}

}  // namespace inferflux::server
