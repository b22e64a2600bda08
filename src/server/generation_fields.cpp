#include "server/generation_fields.h"

#include <boost/json/array.hpp>
#include <charconv>
#include <limits>
#include <random>
#include <system_error>

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

ApiStatus TakeLogitBias(const json::value& value, std::string_view param, Fields& out) {
  const auto object = ReadObject(value, param);
  if (!object) return tl::make_unexpected(object.error());
  if ((*object)->size() > kMaxBiases) return Refuse(param, "must have at most {} entries", kMaxBiases);
  for (const auto& [key, bias] : **object) {
    const std::string name = Join(param, key);
    TokenId id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0) return Refuse(name, "is not a token id");
    const ApiResult<double> number = ReadNumber(bias, name, -100, 100);
    if (!number) return tl::make_unexpected(number.error());
    out.logit_bias.emplace_back(id, static_cast<float>(*number));
  }
  return {};
}

constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

constexpr Field<Fields> kTable[] = {
    {"model", TextField<Fields>{&Fields::model, 256}},
    {"max_tokens", IntegerField<Fields>{&Fields::max_tokens, 1, kMaxTokensAsked}},
    {"temperature", NumberField<Fields>{&Fields::temperature, 0, 2}},
    {"top_p", NumberField<Fields>{&Fields::top_p, 0, 1}},
    {"top_k", IntegerField<Fields>{&Fields::top_k, 0, 1 << 24}},
    {"min_p", NumberField<Fields>{&Fields::min_p, 0, 1}},
    {"repetition_penalty", NumberField<Fields>{&Fields::repetition_penalty, 0.01, 10}},
    {"presence_penalty", NumberField<Fields>{&Fields::presence_penalty, -2, 2}},
    {"frequency_penalty", NumberField<Fields>{&Fields::frequency_penalty, -2, 2}},
    {"seed", IntegerField<Fields>{&Fields::seed, kInt64Min, kInt64Max}},
    {"stop", CustomField<Fields>{TakeStop}},
    {"stream", BooleanField<Fields>{&Fields::stream}},
    {"stream_options", CustomField<Fields>{TakeStreamOptions}},
    {"n", IntegerField<Fields>{&Fields::n, 1, kMaxChoices}},
    {"logit_bias", CustomField<Fields>{TakeLogitBias}},
    {"user", TextField<Fields>{&Fields::user, 512}},
    {"ignore_eos", BooleanField<Fields>{&Fields::ignore_eos}},
};

}  // namespace

std::span<const Field<GenerationFields>> GenerationFieldTable() { return kTable; }

ApiStatus CheckTogether(const GenerationFields& fields) {
  if (fields.has_stream_options && !fields.stream) return Refuse("stream_options", "needs 'stream' to be true");
  return {};
}

ApiResult<scheduler::GenerationRequest> ToGenerationRequest(const GenerationFields& fields, int64_t choice,
                                                            int32_t vocab_size) {
  for (const auto& [id, bias] : fields.logit_bias) {
    if (id >= vocab_size)
      return Refuse("logit_bias", "names the token {}, but the model's ids end at {}", id, vocab_size - 1);
  }
  scheduler::GenerationRequest out;
  engine::SamplingParams& sampling = out.sampling;
  sampling.temperature = fields.temperature;
  sampling.top_k = static_cast<int32_t>(fields.top_k.value_or(0));
  sampling.top_p = fields.top_p;
  sampling.min_p = fields.min_p;
  sampling.repetition_penalty = fields.repetition_penalty;
  sampling.presence_penalty = fields.presence_penalty;
  sampling.frequency_penalty = fields.frequency_penalty;
  sampling.logit_bias = fields.logit_bias;
  if (fields.seed) {
    sampling.seed = static_cast<uint64_t>(*fields.seed) + static_cast<uint64_t>(choice);
  } else {
    std::random_device random;
    sampling.seed = (static_cast<uint64_t>(random()) << 32) | random();
  }
  out.max_tokens = static_cast<int32_t>(fields.max_tokens.value_or(0));
  out.stop = fields.stop;
  out.ignore_eos = fields.ignore_eos;
  return out;
}

}  // namespace inferflux::server
