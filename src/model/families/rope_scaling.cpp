#include "model/families/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr float kLargest = 1e9f;  // limit of a factor or a base; a file beyond it is broken

struct RopeReader {
  const ModelSource& source;
  const ModelConfig& config;
  std::string prefix = config.architecture + ".rope.";

  Result<int32_t> Dimensions() const;
  Result<float> Number(const std::string& key, float fallback, float least = 1e-6f) const {
    return ReadNumber(source, prefix + key, fallback, least, kLargest);
  }
  Result<int32_t> OriginalContext() const {
    int32_t original = config.context;
    auto read = ReadSizes(source, prefix, {{"scaling.original_context_length", &original, 1 << 30, false}});
    if (!read) return Forward(read);
    return original;
  }
  Result<std::vector<float>> Factors(const char* tensor, int32_t pairs) const;
  Status Yarn(float base, int32_t dims, const RopeRules& rules, compute::RopeSpec* spec) const;
};

Result<int32_t> RopeReader::Dimensions() const {
  const std::string key = prefix + "dimension_count";
  auto dims = source.metadata().GetOr<int64_t>(key, config.head_dim);
  if (!dims) return Forward(dims);
  if (*dims < 2 || *dims > config.head_dim || *dims % 2 != 0) {
    return Fail(ErrorCode::kDataLoss, "{}: {} is {}; it must be even and at most the head's {}", source.path(), key,
                *dims, config.head_dim);
  }
  return static_cast<int32_t>(*dims);
}

// The divisor of each pair's frequency.
Result<std::vector<float>> RopeReader::Factors(const char* tensor, int32_t pairs) const {
  auto factors = source.Vector(tensor, pairs);
  if (!factors) return factors;
  for (size_t i = 0; i < factors->size(); ++i) {
    if (!((*factors)[i] > 0.0f) || !std::isfinite((*factors)[i])) {
      return Fail(ErrorCode::kDataLoss, "{}: {}[{}] is {}; it must be positive", source.path(), tensor, i,
                  (*factors)[i]);
    }
  }
  return factors;
}

std::vector<float> PlainFrequencies(float base, int32_t dims) {
  std::vector<float> out;
  for (int32_t i = 0; i < dims; i += 2) {
    out.push_back(1.0f / std::pow(base, static_cast<float>(i) / static_cast<float>(dims)));
  }
  return out;
}

Status RopeReader::Yarn(float base, int32_t dims, const RopeRules& rules, compute::RopeSpec* spec) const {
  const auto factor = Number("scaling.factor", 1.0f);
  const auto original = OriginalContext();
  if (!original) return Forward(original);
  const auto fast = Number("scaling.yarn_beta_fast", 32.0f);
  const auto slow = Number("scaling.yarn_beta_slow", 1.0f);
  const auto share = Number("scaling.yarn_ext_factor", 1.0f, 0.0f);
  for (const auto* number : {&factor, &fast, &slow, &share}) {
    if (!*number) return Forward(*number);
  }
  // With a multiplier, the scale of attention has the magnitude instead (DeepSeek's models).
  const bool in_scale = source.metadata().Contains(prefix + "scaling.yarn_log_multiplier");
  const auto magnitude =
      Number("scaling.yarn_attn_factor", *factor > 1.0f && !in_scale ? 0.1f * std::log(*factor) + 1.0f : 1.0f);
  if (!magnitude) return Forward(magnitude);

  // The pair that rotates `rotations` times over the original context.
  const auto pair_of = [&](double rotations) {
    return dims * std::log(*original / (rotations * 2.0 * std::numbers::pi)) / (2.0 * std::log(double{base}));
  };
  double first = pair_of(*fast), last = pair_of(*slow);
  const auto truncate = source.metadata().GetOr<bool>(kYarnTruncateKey, rules.round_yarn_ramp);
  if (!truncate) return Forward(truncate);
  if (*truncate) first = std::floor(first), last = std::ceil(last);
  first = std::max(first, 0.0);
  last = std::min(last, dims - 1.0);
  if (last <= first) last = first + 0.001;
  for (size_t i = 0; i < spec->inverse_frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
    const double kept = (1.0 - ramp) * *share;
    spec->inverse_frequencies[i] *= static_cast<float>(kept + (1.0 - kept) / *factor);
  }
  spec->magnitude = *magnitude;
  return {};
}

}  // namespace

Result<std::optional<int32_t>> RopeSwitch(const ModelSource& source) {
  const auto architecture = source.metadata().GetOr<std::string>("general.architecture", "");
  if (!architecture) return Forward(architecture);
  const std::string prefix = *architecture + ".";
  int32_t length = 0;
  if (auto read = ReadSizes(source, prefix, {{"context_length", &length, 1 << 30, false}}); !read) return Forward(read);
  const auto dynamic = source.metadata().GetOr<float>(prefix + "rope.scaling.dynamic_factor", 1.0f);
  if (!dynamic) return Forward(dynamic);
  const bool long_rope = source.Find("rope_factors_long.weight") != nullptr;
  if (long_rope) {
    auto read = ReadSizes(source, prefix + "rope.", {{"scaling.original_context_length", &length, 1 << 30, false}});
    if (!read) return Forward(read);
  }
  if (length == 0 || (!long_rope && *dynamic == 1.0f)) return std::optional<int32_t>();
  return std::optional<int32_t>(length);
}

Result<compute::RopeSpec> ReadUnscaledRope(const ModelSource& source, const ModelConfig& config, float base) {
  const auto dims = RopeReader{source, config}.Dimensions();
  if (!dims) return Forward(dims);
  return compute::RopeSpec{.inverse_frequencies = PlainFrequencies(base, *dims)};
}

Result<compute::RopeSpec> ReadRope(const ModelSource& source, const ModelConfig& config, int32_t context,
                                   const RopeRules& rules) {
  const RopeReader reader{source, config};
  const auto dims = reader.Dimensions();
  if (!dims) return Forward(dims);
  auto base = reader.Number("freq_base", 10000.0f, 1.001f);
  if (!base) return Forward(base);
  const auto dynamic = reader.Number("scaling.dynamic_factor", 1.0f);
  if (!dynamic) return Forward(dynamic);
  if (*dynamic != 1.0f && context > config.context && *dims > 2) {
    const float stretch = *dynamic * static_cast<float>(context) / static_cast<float>(config.context) - (*dynamic - 1);
    *base *= std::pow(stretch, static_cast<float>(*dims) / static_cast<float>(*dims - 2));
  }
  compute::RopeSpec spec{.inverse_frequencies = PlainFrequencies(*base, *dims)};

  const auto type = source.metadata().GetOr<std::string>(reader.prefix + "scaling.type", "none");
  if (!type) return Forward(type);
  if (*type == "linear") {
    const auto factor = reader.Number("scaling.factor", 1.0f);
    if (!factor) return Forward(factor);
    for (float& frequency : spec.inverse_frequencies) frequency /= *factor;
  } else if (*type == "yarn") {
    if (auto done = reader.Yarn(*base, *dims, rules, &spec); !done) return Forward(done);
  } else if (*type != "none" && *type != "longrope") {
    return Fail(ErrorCode::kUnsupported,
                "{}: RoPE scaling '{}' is not supported; supported are none, linear, yarn and "
                "longrope, and Llama 3's rope_freqs tensor",
                source.path(), *type);
  }

  const char* factors = source.Find("rope_freqs.weight") != nullptr ? "rope_freqs.weight" : nullptr;
  if (*type == "longrope" || source.Find("rope_factors_long.weight") != nullptr) {
    const auto original = reader.OriginalContext();
    if (!original) return Forward(original);
    factors = context > *original ? "rope_factors_long.weight" : "rope_factors_short.weight";
  }
  if (factors != nullptr) {
    const auto divisors = reader.Factors(factors, *dims / 2);
    if (!divisors) return Forward(divisors);
    for (size_t i = 0; i < divisors->size(); ++i) spec.inverse_frequencies[i] /= (*divisors)[i];
  }
  const auto magnitude = reader.Number("scaling.attn_factor", 1.0f);
  if (!magnitude) return Forward(magnitude);
  spec.magnitude *= *magnitude;
  return spec;
}

}  // namespace inferflux::model
