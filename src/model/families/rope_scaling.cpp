#include "model/families/rope_scaling.h"

#include <cmath>

namespace inferflux::model {

Result<compute::RopeSpec> ReadRope(const ModelSource& source, const std::string& prefix, int32_t head_dim) {
  const auto& metadata = source.metadata();
  auto dims = metadata.GetOr<int64_t>(prefix + "rope.dimension_count", head_dim);
  if (!dims) return Forward(dims);
  if (*dims < 2 || *dims > head_dim || *dims % 2 != 0) {
    return Fail(ErrorCode::kDataLoss, "{}: {}rope.dimension_count is {}; it must be even and at most the head's {}",
                source.path(), prefix, *dims, head_dim);
  }
  auto base = metadata.GetOr<float>(prefix + "rope.freq_base", 10000.0f);
  if (!base) return Forward(base);
  if (!(*base > 1.0f) || !std::isfinite(*base)) {
    return Fail(ErrorCode::kDataLoss, "{}: {}rope.freq_base is {}; it must be above 1", source.path(), prefix, *base);
  }

  auto type = metadata.GetOr<std::string>(prefix + "rope.scaling.type", "none");
  if (!type) return Forward(type);
  float stretch = 1.0f;
  if (*type == "linear") {
    auto factor = metadata.Get<float>(prefix + "rope.scaling.factor");
    if (!factor) return Forward(factor);
    if (!(*factor > 0.0f) || !std::isfinite(*factor)) {
      return Fail(ErrorCode::kDataLoss, "{}: {}rope.scaling.factor is {}; it must be positive", source.path(), prefix,
                  *factor);
    }
    stretch = *factor;
  } else if (*type != "none") {
    return Fail(ErrorCode::kUnsupported, "{}: RoPE scaling '{}' is not supported; supported are none and linear, and "
                "Llama 3's rope_freqs tensor", source.path(), *type);
  }

  const auto pairs = *dims / 2;
  std::vector<float> factors(static_cast<size_t>(pairs), 1.0f);
  if (source.Find("rope_freqs.weight") != nullptr) {
    auto read = source.Vector("rope_freqs.weight", pairs);
    if (!read) return Forward(read);
    factors = std::move(*read);
  }
  compute::RopeSpec spec;
  for (int64_t i = 0; i < pairs; ++i) {
    if (!(factors[i] > 0.0f)) {
      return Fail(ErrorCode::kDataLoss, "{}: rope_freqs.weight[{}] is {}; it must be positive", source.path(), i,
                  factors[i]);
    }
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(*dims);
    spec.inverse_frequencies.push_back(1.0f / std::pow(*base, exponent) / factors[i] / stretch);
  }
  return spec;
}

}  // namespace inferflux::model
