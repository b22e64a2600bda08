#include "model/families/hybrid/state_space.h"

#include <string>
#include <utility>

#include "model/families/common.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

constexpr int32_t kMostScanHeads = 1 << 16;
constexpr int32_t kMostScanWidth = 1 << 20;
constexpr int32_t kMostScanTaps = 1024;

// `automatic`: what "auto" means.
Result<uint32_t> ReadSize(const formats::HfConfig& config, std::string_view key, uint32_t most,
                          uint32_t automatic = 0) {
  const auto* value = config.raw.FindValue(key);
  uint32_t number = automatic;
  if (value == nullptr || !value->is_string() || value->get_string() != "auto") {
    const auto read = config.raw.Get<uint32_t>(key);
    if (!read) return read;
    number = *read;
  }
  if (number >= 1 && number <= most) return number;
  return Fail(ErrorCode::kDataLoss, "{}: {} is {}, which is not between 1 and {}", config.raw.source(), key, number,
              most);
}

// Infinity is null after reading, or an object in transformers' newer files.
bool IsNoLimit(const formats::HfConfig& config, std::string_view key) {
  const auto* limits = config.raw.FindValue(key);
  if (limits == nullptr) return true;
  if (!limits->is_array() || limits->get_array().size() != 2) return false;
  const auto& least = limits->get_array()[0];
  const auto& most = limits->get_array()[1];
  const bool from_zero = least.is_number() && least.to_number<double>() == 0.0;
  return from_zero && (most.is_null() || most.is_object() || (most.is_number() && most.to_number<double>() > 1e30));
}

Result<compute::StateSpaceParams> ReadStateSpace(const ModelSource& source, const std::string& prefix) {
  compute::StateSpaceParams space;
  int32_t inner = 0;
  auto sizes = ReadSizes(source, prefix,
                         {{"ssm.inner_size", &inner, kMostScanWidth, true},
                          {"ssm.time_step_rank", &space.heads, kMostScanHeads, true},
                          {"ssm.group_count", &space.groups, kMostScanHeads, false},
                          {"ssm.state_size", &space.state, kMostScanHeads, true}});
  if (!sizes) return Forward(sizes);
  if (inner % space.heads != 0 || space.heads % space.groups != 0) {
    return Fail(ErrorCode::kDataLoss, "{}: {} values in {} heads cannot share {} groups evenly", source.path(), inner,
                space.heads, space.groups);
  }
  space.head_dim = inner / space.heads;
  if (space.width() > kMostScanWidth || space.inner() * space.state > int64_t{1} << 32) {
    return Fail(ErrorCode::kDataLoss, "{}: a state of {} values in {} groups of {} is too large", source.path(), inner,
                space.groups, space.state);
  }
  return space;
}

}  // namespace

Status PrepareStateSpace(formats::HfConfig& config, const StateSpaceSizes& sizes) {
  if (!IsNoLimit(config, "time_step_limit")) {
    return Fail(ErrorCode::kUnsupported, "{}: time_step_limit sets bounds; only 0 to Infinity is supported",
                config.raw.source());
  }
  const auto heads = ReadSize(config, sizes.heads, kMostScanHeads);
  if (!heads) return Forward(heads);
  const auto head_dim = ReadSize(config, sizes.head_dim, kMostScanHeads, sizes.inner / *heads);
  const auto groups = ReadSize(config, sizes.groups, kMostScanHeads);
  const auto state = ReadSize(config, sizes.state, kMostScanHeads);
  const auto taps = ReadSize(config, sizes.taps, kMostScanTaps);
  for (const auto* size : {&head_dim, &groups, &state, &taps}) {
    if (!*size) return Forward(*size);
  }
  const uint64_t inner = uint64_t{*heads} * *head_dim;
  if (inner > kMostScanWidth || (sizes.inner > 0 && inner != sizes.inner) || *heads % *groups != 0) {
    return Fail(ErrorCode::kDataLoss, "{}: {} heads of {} in {} groups do not make {} values", config.raw.source(),
                *heads, *head_dim, *groups, sizes.inner > 0 ? sizes.inner : kMostScanWidth);
  }
  config.ssm_inner_size = static_cast<uint32_t>(inner);
  config.norm_groups = *groups;
  config.counts["ssm.time_step_rank"] = *heads;
  config.counts["ssm.group_count"] = *groups;
  config.counts["ssm.state_size"] = *state;
  config.counts["ssm.conv_kernel"] = *taps;
  return {};
}

Result<uint32_t> ExpandedSize(const formats::HfConfig& config, std::string_view key) {
  const auto expand = config.raw.GetOr<uint32_t>(key, 2);
  if (!expand) return expand;
  const uint64_t inner = uint64_t{*expand} * config.hidden_size;
  if (inner >= 1 && inner <= kMostScanWidth) return static_cast<uint32_t>(inner);
  return Fail(ErrorCode::kDataLoss, "{}: {} is {}, which makes {} values; at most {} are served", config.raw.source(),
              key, *expand, inner, kMostScanWidth);
}

Result<ModelConfig> ReadStateSpaceModel(const ModelSource& source, int32_t context, ModelConfig family) {
  const auto architecture = source.metadata().Get<std::string>("general.architecture");
  if (!architecture) return Forward(architecture);
  const std::string prefix = *architecture + ".";
  auto taps = ReadSizes(source, prefix, {{"ssm.conv_kernel", &family.conv_taps, kMostScanTaps, true}});
  if (!taps) return Forward(taps);
  if (family.conv_taps < 2) {
    return Fail(ErrorCode::kUnsupported, "{}: {}ssm.conv_kernel is {}; at least 2 is supported", source.path(), prefix,
                family.conv_taps);
  }
  auto space = ReadStateSpace(source, prefix);
  if (!space) return Forward(space);
  family.state_space = *space;
  return ReadDecoderConfig(source, context, std::move(family));
}

}  // namespace inferflux::model
