#include "server/ollama/ollama_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "server/request/sampling_fields.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

using Type = IgnoredField::Type;

constexpr size_t kMostOllamaStops = 64;
constexpr size_t kMostOllamaStopBytes = 1024;
constexpr std::string_view kPlacement = "the model is loaded already, with the server's settings";

ApiStatus TakeOllamaStop(const json::value& value, std::string_view param, OllamaFields& out) {
  const json::array one{value};
  const auto list = value.is_string() ? &one : ReadArray(value, param, kMostOllamaStops).value_or(nullptr);
  if (list == nullptr) return Refuse(param, "must be a string, or a list of up to {} strings", kMostOllamaStops);
  for (size_t i = 0; i < list->size(); ++i) {
    ApiResult<std::string> stop = ReadText((*list)[i], EntryName(param, i, list->size()), kMostOllamaStopBytes);
    if (!stop) return Forward(stop);
    if (!stop->empty()) out.stop.push_back(std::move(*stop));
  }
  return {};
}

// 0 and below: the rest of the context.
ApiStatus TakeNumPredict(const json::value& value, std::string_view param, OllamaFields& out) {
  const auto count = ReadInteger(value, param, -2, std::numeric_limits<int64_t>::max());
  if (!count) return Forward(count);
  constexpr int64_t kMost = 1 << 24;
  out.max_tokens = *count <= 0 ? 0 : static_cast<int32_t>(std::min(*count, kMost));
  return {};
}

ApiStatus TakeRepeatPenalty(const json::value& value, std::string_view param, OllamaFields& out) {
  return ParseSamplingField("repetition_penalty", param, value, out.sampling).map([](bool) {});
}

// Penalties look at the whole text here. The window matters only beside a penalty; see FinishOllamaFields.
ApiStatus TakeRepeatLastN(const json::value& value, std::string_view param, OllamaFields& out) {
  return ReadInteger(value, param, -1, 1 << 24).map([&](int64_t window) { out.repeat_last_n = window; });
}

constexpr Field<OllamaFields> kOllamaOptions[] = {
    {"num_predict", CustomField<OllamaFields>{TakeNumPredict}},
    {"stop", CustomField<OllamaFields>{TakeOllamaStop}},
    {"repeat_penalty", CustomField<OllamaFields>{TakeRepeatPenalty}},
    {"repeat_last_n", CustomField<OllamaFields>{TakeRepeatLastN}},
    {"num_ctx",
     IgnoredField{Type::kNumber, "the context is set when the server starts; what does not fit is an error"}},
    {"num_keep", IgnoredField{Type::kNumber, "no text is ever cut out of a prompt"}},
    {"num_batch", IgnoredField{Type::kNumber, kPlacement}},
    {"num_gpu", IgnoredField{Type::kNumber, kPlacement}},
    {"main_gpu", IgnoredField{Type::kNumber, kPlacement}},
    {"num_thread", IgnoredField{Type::kNumber, kPlacement}},
    {"numa", IgnoredField{Type::kBoolean, kPlacement}},
    {"low_vram", IgnoredField{Type::kBoolean, kPlacement}},
    {"f16_kv", IgnoredField{Type::kBoolean, kPlacement}},
    {"use_mmap", IgnoredField{Type::kBoolean, kPlacement}},
    {"use_mlock", IgnoredField{Type::kBoolean, kPlacement}},
    {"penalize_newline", IgnoredField{Type::kBoolean, "a line end is a token like others, as in Ollama's own engine"}},
    {"tfs_z", NoOpField{"1"}},
    {"logits_all", NoOpField{"false"}},
    {"vocab_only", NoOpField{"false"}},
    {"embedding_only", NoOpField{"false"}},
};

ApiStatus TakeOptions(const json::value& value, std::string_view param, OllamaFields& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  for (const auto& [key, option] : **object) {
    const std::string name = Join(param, key);
    ApiResult<bool> taken = ParseField<OllamaFields>(kOllamaOptions, key, name, option, out);
    if (taken && !*taken) taken = ParseSamplingField(key, name, option, out.sampling);
    if (!taken) return Forward(taken);
    if (*taken) continue;
    std::vector<std::string_view> known;
    AppendNames<OllamaFields>(kOllamaOptions, known);
    AppendSamplingNames(known);
    return RefuseUnknown(name, known);
  }
  return {};
}

ApiStatus TakeFormat(const json::value& value, std::string_view param, OllamaFields& out) {
  using Kind = text::GrammarSpec::Kind;
  if (value == "") return {};
  if (value == "json") {
    out.grammar = text::GrammarSpec{.kind = Kind::kJsonObject};
    return {};
  }
  if (!value.is_object()) return Refuse(param, "must be \"json\" or a JSON schema");
  out.grammar = text::GrammarSpec{.kind = Kind::kJsonSchema, .source = json::serialize(value)};
  return {};
}

ApiStatus TakeThink(const json::value& value, std::string_view param, OllamaFields& out) {
  if (value.is_bool()) {
    out.chat.reasoning.enabled = value.get_bool();
    return {};
  }
  for (const char* effort : {"low", "medium", "high", "max"}) {
    if (value != effort) continue;
    out.chat.reasoning.enabled = true;
    out.chat.reasoning.effort = effort;
    return {};
  }
  return Refuse(param, "must be true, false, \"low\", \"medium\", \"high\" or \"max\"");
}

ApiStatus TakeKeepAlive(const json::value& value, std::string_view param, OllamaFields& out) {
  return ReadDuration(value, param).map([&](double seconds) { out.keep_alive = seconds; });
}

constexpr Field<OllamaFields> kOllamaFields[] = {
    {"model", TextField<OllamaFields>{&OllamaFields::model, 256}},
    {"stream", BooleanField<OllamaFields>{&OllamaFields::stream}},
    {"options", CustomField<OllamaFields>{TakeOptions}},
    {"format", CustomField<OllamaFields>{TakeFormat}},
    {"think", CustomField<OllamaFields>{TakeThink}},
    {"keep_alive", CustomField<OllamaFields>{TakeKeepAlive}},
    {"logprobs", BooleanField<OllamaFields>{&OllamaFields::logprobs}},
    {"top_logprobs", IntegerField<OllamaFields>{&OllamaFields::shown_logprobs, 0, 20}},
};

// The seconds of one unit of a duration, as Go writes it.
double UnitSeconds(std::string_view unit) {
  if (unit == "ns") return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  if (unit == "m") return 60;
  return unit == "h" ? 3600 : 0;
}

}  // namespace

// Ollama's defaults, but for repeat_penalty, which is 1 here: no penalty that was not asked for.
OllamaFields::OllamaFields() {
  sampling.params.temperature = 0.8f;
  sampling.params.top_k = 40;
  sampling.params.top_p = 0.9f;
}

ApiStatus ReadOllamaOptions(const json::value& value, std::string_view param, OllamaFields& out) {
  return TakeOptions(value, param, out);
}

std::span<const Field<OllamaFields>> OllamaFieldTable() { return kOllamaFields; }
std::span<const Field<OllamaFields>> OllamaOptionTable() { return kOllamaOptions; }

ApiStatus FinishOllamaFields(OllamaFields& out) {
  if (out.model.empty()) return RefuseAs("missing_required_parameter", "model", "'model' is missing");
  auto& params = out.sampling.params;
  if (params.mirostat) {  // it replaces the filters, also the defaults
    params.top_k = 0;
    params.top_p = 1;
  }
  if (out.repeat_last_n == 0) params.repetition_penalty = 1;
  if (params.repetition_penalty != 1 && out.repeat_last_n.value_or(-1) > 0) {
    return Refuse("options.repeat_last_n", "must be -1 (the whole text) or 0 (off) beside 'repeat_penalty'");
  }
  if (out.shown_logprobs && !out.logprobs) return Refuse("top_logprobs", "needs 'logprobs' to be true");
  if (out.logprobs) out.top_logprobs = static_cast<int32_t>(out.shown_logprobs.value_or(0));
  return CheckSampling(out.sampling);
}

ApiResult<double> ReadDuration(const json::value& value, std::string_view param) {
  if (value.is_number()) return value.to_number<double>();
  if (!value.is_string()) return Refuse(param, "must be a number of seconds, or a duration such as \"5m\"");
  std::string_view rest = value.get_string();
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  double seconds = 0;
  bool any = false;
  while (!rest.empty()) {
    double number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc()) break;
    const std::string_view behind = rest.substr(static_cast<size_t>(end - rest.data()));
    const std::string_view unit = behind.substr(0, behind.find_first_of("0123456789."));
    if (UnitSeconds(unit) == 0 && !(unit.empty() && !any)) break;
    seconds += number * (unit.empty() ? 1 : UnitSeconds(unit));
    rest = behind.substr(unit.size());
    any = true;
  }
  if (!any || !rest.empty()) return Refuse(param, "must be a number of seconds, or a duration such as \"5m\"");
  return negative ? -seconds : seconds;
}

}  // namespace inferflux::server
