// Finds which tensors of a checkpoint form one weight, by its quantisation.
#include <algorithm>
#include <array>
#include <iterator>

#include "model/huggingface/weight_collector.h"

namespace inferflux::model {

using formats::GroupwiseIntsFormat;
using formats::HfQuantization;
using formats::SafetensorsDtype;
using formats::SafetensorsTensor;

namespace {

constexpr std::string_view kQweight = ".qweight";

// Tensors for quantised activations and 8-bit KV caches, neither of which is used here.
constexpr std::string_view kOfActivations[] = {
    ".input_scale", ".input_zero_point", ".input_global_scale", ".output_scale", ".output_zero_point", ".q_scale",
    ".k_scale",     ".v_scale",          ".q_zero_point",       ".k_zero_point", ".v_zero_point"};

bool IsOfActivations(std::string_view name) {
  return std::ranges::any_of(kOfActivations, [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

Result<std::vector<std::shared_ptr<const StoredWeight>>> WeightCollector::Run() {
  for (const SafetensorsTensor* tensor : model_.tensors()) {
    if (tensor->name.ends_with(kQweight)) {
      if (auto added = AddGroupwiseInts(*tensor); !added) return Forward(added);
    } else if (tensor->name.ends_with(kWeightPacked)) {
      if (auto added = AddPacked(*tensor); !added) return Forward(added);
    } else if (IsInt8(*tensor)) {
      if (auto added = AddInt8(*tensor); !added) return Forward(added);
    } else if (IsModelOptNvfp4(*tensor)) {
      if (auto added = AddModelOptNvfp4(*tensor); !added) return Forward(added);
    } else if (IsMlx(*tensor)) {
      if (auto added = AddMlx(*tensor); !added) return Forward(added);
    } else if (IsStack(*tensor) && Traits(tensor->dtype).type) {
      if (auto added = AddStack(*tensor); !added) return Forward(added);
    } else if (IsFused(*tensor) && Traits(tensor->dtype).type) {
      if (auto added = AddFused(*tensor); !added) return Forward(added);
    } else if (tensor->name.ends_with("_proj_blocks")) {
      if (auto added = AddExperts(*tensor); !added) return Forward(added);
    } else if (tensor->dtype == SafetensorsDtype::kF8E4m3 || tensor->dtype == SafetensorsDtype::kF8E5m2) {
      if (auto added = AddFp8(*tensor); !added) return Forward(added);
    }
  }
  std::vector<std::shared_ptr<const StoredWeight>> weights;
  for (const SafetensorsTensor* tensor : model_.tensors()) {
    if (const auto it = made_.find(tensor); it != made_.end()) {
      std::move(it->second.begin(), it->second.end(), std::back_inserter(weights));
    } else if (!taken_.contains(tensor) && !IsOfActivations(tensor->name)) {
      if (!Traits(tensor->dtype).type) {
        return Fail(ErrorCode::kUnsupported, "tensor '{}' holds {}, which no GGUF file can", tensor->name,
                    Traits(tensor->dtype).name);
      }
      weights.push_back(std::make_shared<const StoredWeight>(tensor->name, *tensor));
    }
  }
  return weights;
}

const SafetensorsTensor* WeightCollector::Take(const std::string& base, std::string_view suffix) {
  const SafetensorsTensor* found = model_.FindTensor(base + std::string(suffix));
  if (found != nullptr) taken_.insert(found);
  return found;
}

tl::unexpected<Error> WeightCollector::Lacks(const SafetensorsTensor& tensor, std::string_view base,
                                             std::string_view suffix) const {
  return Fail(ErrorCode::kDataLoss,
              "tensor '{}' has no '{}{}' beside it: the checkpoint is incomplete; fetch it or convert it anew",
              tensor.name, base, suffix);
}

Result<GroupwiseIntsFormat> WeightCollector::FormatOfInts(const SafetensorsTensor& tensor) const {
  if (!config_.quantization || (config_.quantization->method != "gptq" && config_.quantization->method != "awq")) {
    return Fail(ErrorCode::kDataLoss, "tensor '{}' is packed, but quantization_config names neither gptq nor awq",
                tensor.name);
  }
  const HfQuantization& from = *config_.quantization;
  const bool gptq = from.method == "gptq";
  return GroupwiseIntsFormat{.packing = gptq ? GroupwiseIntsFormat::Packing::kGptq : GroupwiseIntsFormat::Packing::kAwq,
                             .bits = from.bits,
                             .group_size = from.group_size,
                             .zero_bias = gptq && from.checkpoint_format != "gptq_v2" ? 1u : 0u};
}

Status WeightCollector::AddGroupwiseInts(const SafetensorsTensor& qweight) {
  const std::string base = qweight.name.substr(0, qweight.name.size() - kQweight.size());
  const auto format = FormatOfInts(qweight);
  if (!format) return Forward(format);
  const formats::GroupwiseIntsTensors tensors{.qweight = &qweight,
                                              .qzeros = Take(base, ".qzeros"),
                                              .scales = Take(base, ".scales"),
                                              .group_of = Take(base, ".g_idx")};
  if (tensors.qzeros == nullptr) return Lacks(qweight, base, ".qzeros");
  if (tensors.scales == nullptr) return Lacks(qweight, base, ".scales");
  auto ints = formats::GroupwiseInts::Open(tensors, *format);
  if (!ints) return Forward(ints);
  const uint64_t bytes = qweight.data.size() + tensors.qzeros->data.size() + tensors.scales->data.size();
  Add(qweight, base + ".weight", std::move(*ints), bytes);
  return {};
}

// The block of outputs and inputs that share a scale, if config.json gives one: for all weights, or for the group of
// compressed-tensors whose block matches the shape of the scales.
Result<std::array<uint32_t, 2>> WeightCollector::Fp8Block(const SafetensorsTensor& weight,
                                                          const SafetensorsTensor& scales) const {
  std::array<uint32_t, 2> block{};
  if (!config_.quantization) return block;
  const auto& sizes = config_.quantization->weight_block_size;
  if (!sizes.empty() && sizes.size() != 2) return Fail(ErrorCode::kDataLoss, "weight_block_size should be two sizes");
  std::copy(sizes.begin(), sizes.end(), block.begin());
  if (!sizes.empty() || weight.shape.size() != 2) return block;
  const auto blocks = [&](size_t dimension, uint64_t size) { return (weight.shape[dimension] + size - 1) / size; };
  for (const formats::HfQuantGroup& group : config_.quantization->groups) {
    if (group.block.size() != 2 || group.block[0] == 0 || group.block[1] == 0) continue;
    if (scales.shape == std::vector{blocks(0, group.block[0]), blocks(1, group.block[1])})
      return std::array{group.block[0], group.block[1]};
  }
  return block;
}

Status WeightCollector::AddFp8(const SafetensorsTensor& weight) {
  if (!weight.name.ends_with(kWeight)) return {};  // PlanTensors decides by its name
  const std::string base = weight.name.substr(0, weight.name.size() - kWeight.size());
  const SafetensorsTensor* scales = Take(base, ".weight_scale");
  const SafetensorsTensor* block_scales = Take(base, ".weight_scale_inv");
  if (scales != nullptr && block_scales != nullptr) {
    return Fail(ErrorCode::kDataLoss, "tensors '{}' and '{}' both scale '{}'", scales->name, block_scales->name,
                weight.name);
  }
  if (scales == nullptr) scales = block_scales;
  if (scales == nullptr) return Lacks(weight, base, ".weight_scale");
  const auto block = Fp8Block(weight, *scales);
  if (!block) return Forward(block);
  auto fp8 = formats::Fp8Weights::Open(weight, *scales, *block);
  if (!fp8) return Forward(fp8);
  const uint64_t bytes = weight.data.size() + scales->data.size();
  Add(weight, weight.name, std::move(*fp8), bytes);
  return {};
}

Result<std::vector<std::shared_ptr<const StoredWeight>>> CollectWeights(const formats::HfConfig& config,
                                                                        const formats::SafetensorsModel& model) {
  auto weights = WeightCollector(config, model).Run();
  if (!weights) return Forward(weights, config.raw.source());
  return weights;
}

}  // namespace inferflux::model
