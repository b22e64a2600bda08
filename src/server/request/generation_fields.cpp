#include "server/request/generation_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

namespace inferflux::server {
namespace json = boost::json;
namespace {

ApiStatus TakeStop(const json::value& value, std::string_view param, GenerationFields& out) {
  const auto add = [&](const json::value& text, const std::string& name) -> ApiStatus {
    ApiResult<std::string> stop = ReadText(text, name, kMaxStopBytes);
    if (!stop) return Forward(stop);
    if (stop->empty()) return Refuse(name, "must not be empty");
    out.stop.push_back(std::move(*stop));
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
      {"include_obfuscation", NoOpField{"false"}},
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

// It is part of a path in /v1/sessions.
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

// Fields that belong to a base.
template <ApiStatus (*take)(const json::value&, std::string_view, GrammarFields&)>
ApiStatus TakeInBase(const json::value& value, std::string_view param, GenerationFields& out) {
  return take(value, param, out);
}

constexpr Field<GenerationFields> kGenerationFields[] = {
    {"model", TextField<GenerationFields>{&GenerationFields::model, 256}},
    {"max_tokens", IntegerField<GenerationFields>{&GenerationFields::max_tokens, 1, kMaxTokensAsked}},
    {"stop", CustomField<GenerationFields>{TakeStop}},
    {"stream", BooleanField<GenerationFields>{&GenerationFields::stream}},
    {"stream_options", CustomField<GenerationFields>{TakeStreamOptions}},
    {"n", IntegerField<GenerationFields>{&GenerationFields::n, 1, kMaxChoices}},
    {"user", TextField<GenerationFields>{&GenerationFields::user, 512}},
    {"speculative", CustomField<GenerationFields>{TakeSpeculative}},
    {"session_id", CustomField<GenerationFields>{TakeSessionId}},
    {"session_ttl", IntegerField<GenerationFields>{&GenerationFields::session_ttl, 1, kMaxSessionSeconds}},
    {"priority", IntegerField<GenerationFields>{&GenerationFields::priority, -kMaxPriority, kMaxPriority}},
    {"timeout", NumberField<GenerationFields>{&GenerationFields::timeout, kMinTimeout, kMaxTimeout}},
    {"response_format", CustomField<GenerationFields>{TakeInBase<TakeResponseFormat>}},
    {"grammar", CustomField<GenerationFields>{TakeInBase<TakeGrammar>}},
    {"structured_outputs", CustomField<GenerationFields>{TakeInBase<TakeStructuredOutputs>}},
    {"ignore_eos", BooleanField<GenerationFields>{&GenerationFields::ignore_eos}},
};

}  // namespace

std::span<const Field<GenerationFields>> GenerationFieldTable() { return kGenerationFields; }

ApiStatus CheckTogether(const GenerationFields& fields) {
  if (fields.has_stream_options && !fields.stream) return Refuse("stream_options", "needs 'stream' to be true");
  if (fields.session_ttl && fields.session_id.empty()) return Refuse("session_ttl", "needs a 'session_id'");
  if (!fields.session_id.empty() && fields.choices() > 1) {
    return Refuse("session_id", "goes with one choice: 'n' must be 1");
  }
  return CheckSampling(fields);
}

ApiResult<scheduler::GenerationRequest> ToGenerationRequest(const GenerationFields& fields, int64_t choice,
                                                            int32_t vocab_size) {
  auto sampling = ToSamplingParams(fields, choice, vocab_size);
  if (!sampling) return Forward(sampling);
  scheduler::GenerationRequest out;
  out.sampling = std::move(*sampling);
  out.max_tokens = static_cast<int32_t>(fields.max_tokens.value_or(0));
  out.stop = fields.stop;
  out.ignore_eos = fields.ignore_eos;
  out.speculation = fields.speculation;
  out.priority = -static_cast<int32_t>(fields.priority.value_or(0));  // the scheduler serves the higher one first
  if (fields.timeout > 0) {
    const std::chrono::duration<double> timeout(fields.timeout);
    out.deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(timeout);
  }
  if (!fields.session_id.empty()) {
    scheduler::SessionUse& session = out.session.emplace();
    session.id = fields.session_id;
    if (fields.session_ttl) session.ttl = std::chrono::seconds(*fields.session_ttl);
  }
  return out;
}

}  // namespace inferflux::server
