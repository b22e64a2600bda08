#include "server/generation_fields.h"

#include <boost/json/array.hpp>
#include <utility>

namespace inferflux::server {
namespace json = boost::json;
namespace {

using Fields = GenerationFields;

ApiStatus TakeStop(const json::value& value, std::string_view param, Fields& out) {
  const auto add = [&](const json::value& text, const std::string& name) -> ApiStatus {
    ApiResult<std::string> stop = ReadText(text, name, kMaxStopBytes);
    if (!stop) return Forward(stop);
    if (stop->empty()) return Refuse(name, "must not be empty");
    out.stop.push_back(std::move(*stop));
    return {};
  };
  if (value.is_string()) return add(value, std::string(param));
  const ApiResult<const json::array*> list = ReadArray(value, param, kMaxStops);
  if (!list) return tl::make_unexpected(list.error());
  for (size_t i = 0; i < (*list)->size(); ++i) {
    if (ApiStatus added = add((**list)[i], fmt::format("{}[{}]", param, i)); !added) return added;
  }
  return {};
}

ApiStatus TakeStreamOptions(const json::value& value, std::string_view param, Fields& out) {
  static constexpr Field<Fields> kFields[] = {
      {"include_usage", BooleanField<Fields>{&Fields::include_usage}},
      {"include_obfuscation", NeutralField{"false"}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return tl::make_unexpected(object.error());
  out.has_stream_options = true;
  return TakeObject<Fields>(kFields, param, **object, out);
}

constexpr Field<Fields> kTable[] = {
    {"model", TextField<Fields>{&Fields::model, 256}},
    {"max_tokens", IntegerField<Fields>{&Fields::max_tokens, 1, kMaxTokensAsked}},
    {"stop", CustomField<Fields>{TakeStop}},
    {"stream", BooleanField<Fields>{&Fields::stream}},
    {"stream_options", CustomField<Fields>{TakeStreamOptions}},
    {"n", IntegerField<Fields>{&Fields::n, 1, kMaxChoices}},
    {"user", TextField<Fields>{&Fields::user, 512}},
    {"ignore_eos", BooleanField<Fields>{&Fields::ignore_eos}},
};

}  // namespace

std::span<const Field<GenerationFields>> GenerationFieldTable() { return kTable; }

ApiStatus CheckTogether(const GenerationFields& fields) {
  if (fields.has_stream_options && !fields.stream) return Refuse("stream_options", "needs 'stream' to be true");
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
  return out;
}

}  // namespace inferflux::server
