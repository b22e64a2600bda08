#include "server/request/sampling_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <limits>
#include <random>
#include <system_error>

namespace inferflux::server {
namespace json = boost::json;
namespace {

ApiStatus TakeLogitBias(const json::value& value, std::string_view param, SamplingFields& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  if ((*object)->size() > kMaxBiases) return Refuse(param, "must have at most {} entries", kMaxBiases);
  for (const auto& [key, bias] : **object) {
    const std::string name = Join(param, key);
    TokenId id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0) return Refuse(name, "is not a token id");
    const ApiResult<double> number = ReadNumber(bias, name, -100, 100);
    if (!number) return Forward(number);
    out.logit_bias.emplace_back(id, static_cast<float>(*number));
  }
  return {};
}

ApiStatus TakeBreakers(const json::value& value, std::string_view param, SamplingFields& out) {
  const auto list = ReadArray(value, param, kMaxBreakers);
  if (!list) return Forward(list);
  out.dry_sequence_breakers.clear();
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    ApiResult<std::string> breaker = ReadText((**list)[i], name, kMaxBreakerBytes);
    if (!breaker) return Forward(breaker);
    if (breaker->empty()) return Refuse(name, "must not be empty");
    out.dry_sequence_breakers.push_back(std::move(*breaker));
  }
  return {};
}

ApiStatus TakeMirostat(const json::value& value, std::string_view param, SamplingFields& out) {
  const auto version = ReadInteger(value, param, 0, 2);
  if (!version) return Forward(version);
  if (*version == 1) return Refuse(param, "must be 0 (off) or 2; version 1 is not supported");
  out.mirostat = *version == 2;
  return {};
}

constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr int64_t kMaxTokens = 1 << 24;

constexpr Field<SamplingFields> kSamplingFields[] = {
    {"temperature", NumberField<SamplingFields>{&SamplingFields::temperature, 0, 2}},
    {"top_k", IntegerField<SamplingFields>{&SamplingFields::top_k, 0, kMaxTokens}},
    {"top_p", NumberField<SamplingFields>{&SamplingFields::top_p, 0, 1}},
    {"min_p", NumberField<SamplingFields>{&SamplingFields::min_p, 0, 1}},
    {"typical_p", NumberField<SamplingFields>{&SamplingFields::typical_p, 0, 1}},
    {"top_n_sigma", NumberField<SamplingFields>{&SamplingFields::top_n_sigma, 0, 100}},
    {"xtc_probability", NumberField<SamplingFields>{&SamplingFields::xtc_probability, 0, 1}},
    {"xtc_threshold", NumberField<SamplingFields>{&SamplingFields::xtc_threshold, 0, 0.5}},
    {"repetition_penalty", NumberField<SamplingFields>{&SamplingFields::repetition_penalty, 0.01, 10}},
    {"presence_penalty", NumberField<SamplingFields>{&SamplingFields::presence_penalty, -2, 2}},
    {"frequency_penalty", NumberField<SamplingFields>{&SamplingFields::frequency_penalty, -2, 2}},
    {"dry_multiplier", NumberField<SamplingFields>{&SamplingFields::dry_multiplier, 0, 100}},
    {"dry_base", NumberField<SamplingFields>{&SamplingFields::dry_base, 1, 4}},
    {"dry_allowed_length", IntegerField<SamplingFields>{&SamplingFields::dry_allowed_length, 0, 1024}},
    {"dry_penalty_last_n", IntegerField<SamplingFields>{&SamplingFields::dry_penalty_last_n, -1, kMaxTokens}},
    {"dry_sequence_breakers", CustomField<SamplingFields>{TakeBreakers}},
    {"mirostat", CustomField<SamplingFields>{TakeMirostat}},
    {"mirostat_tau", NumberField<SamplingFields>{&SamplingFields::mirostat_tau, 0, 100}},
    {"mirostat_eta", NumberField<SamplingFields>{&SamplingFields::mirostat_eta, 0, 1}},
    {"seed", IntegerField<SamplingFields>{&SamplingFields::seed, kInt64Min, kInt64Max}},
    {"logit_bias", CustomField<SamplingFields>{TakeLogitBias}},
};

}  // namespace

std::span<const Field<SamplingFields>> SamplingFieldTable() { return kSamplingFields; }

ApiStatus CheckSampling(const SamplingFields& fields) {
  if (!fields.mirostat) return {};
  const auto replaced = [](std::string_view name) {
    return Refuse(name, "has no effect beside 'mirostat', which replaces the filters; leave one of them out");
  };
  if (fields.top_k.value_or(0) > 0) return replaced("top_k");
  if (fields.top_p < 1) return replaced("top_p");
  if (fields.min_p > 0) return replaced("min_p");
  if (fields.typical_p < 1) return replaced("typical_p");
  if (fields.xtc_probability > 0) return replaced("xtc_probability");
  return {};
}

ApiResult<engine::SamplingParams> ToSamplingParams(const SamplingFields& fields, int64_t choice, int32_t vocab_size) {
  for (const auto& [id, bias] : fields.logit_bias) {
    if (id >= vocab_size)
      return Refuse("logit_bias", "names the token {}, but the model's ids end at {}", id, vocab_size - 1);
  }
  engine::SamplingParams out;
  out.temperature = fields.temperature;
  out.top_k = static_cast<int32_t>(fields.top_k.value_or(0));
  out.top_p = fields.top_p;
  out.min_p = fields.min_p;
  out.typical_p = fields.typical_p;
  out.top_n_sigma = fields.top_n_sigma;
  out.xtc_probability = fields.xtc_probability;
  out.xtc_threshold = fields.xtc_threshold;
  out.repetition_penalty = fields.repetition_penalty;
  out.presence_penalty = fields.presence_penalty;
  out.frequency_penalty = fields.frequency_penalty;
  out.dry_multiplier = fields.dry_multiplier;
  out.dry_base = fields.dry_base;
  out.dry_allowed_length = static_cast<int32_t>(fields.dry_allowed_length.value_or(out.dry_allowed_length));
  out.dry_penalty_last_n = static_cast<int32_t>(fields.dry_penalty_last_n.value_or(out.dry_penalty_last_n));
  out.mirostat = fields.mirostat;
  out.mirostat_tau = fields.mirostat_tau;
  out.mirostat_eta = fields.mirostat_eta;
  out.logit_bias = fields.logit_bias;
  if (fields.seed) {
    out.seed = static_cast<uint64_t>(*fields.seed) + static_cast<uint64_t>(choice);
  } else {
    std::random_device random;
    out.seed = (static_cast<uint64_t>(random()) << 32) | random();
  }
  return out;
}

std::vector<TokenId> DryBreakers(const SamplingFields& fields, const text::Tokenizer& tokenizer) {
  std::vector<TokenId> out;
  if (fields.dry_multiplier <= 0) return out;
  for (const std::string& breaker : fields.dry_sequence_breakers) {
    const std::vector<TokenId> ids = tokenizer.Encode("a" + breaker);
    if (!ids.empty() && std::ranges::count(out, ids.back()) == 0) out.push_back(ids.back());
  }
  return out;
}

}  // namespace inferflux::server
