// Which tensors of a checkpoint belong together, by its quantisation.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "formats/checkpoint/stacked_experts.h"
#include "formats/checkpoint/tensor_checks.h"
#include "model/huggingface/stored_weight.h"

namespace inferflux::model {
namespace {

using formats::GroupedIntsFormat;
using formats::HfConfig;
using formats::HfQuantization;
using formats::SafetensorsDtype;
using formats::SafetensorsTensor;

class Collector {
 public:
  Collector(const HfConfig& config, const formats::SafetensorsModel& model) : config_(config), model_(model) {}

  Result<std::vector<std::shared_ptr<const StoredWeight>>> Run() {
    for (const SafetensorsTensor* tensor : model_.tensors()) {
      if (tensor->name.ends_with(kPacked)) {
        if (auto added = AddGroupedInts(*tensor); !added) return Forward(added);
      } else if (IsMlx(*tensor)) {
        if (auto added = AddMlx(*tensor); !added) return Forward(added);
      } else if (IsStack(*tensor) && Traits(tensor->dtype).type) {
        if (auto added = AddStack(*tensor); !added) return Forward(added);
      } else if (tensor->name.ends_with(kBlocks)) {
        if (auto added = AddExperts(*tensor); !added) return Forward(added);
      } else if (tensor->dtype == SafetensorsDtype::kF8E4m3 || tensor->dtype == SafetensorsDtype::kF8E5m2) {
        if (auto added = AddFp8(*tensor); !added) return Forward(added);
      }
    }
    std::vector<std::shared_ptr<const StoredWeight>> weights;
    for (const SafetensorsTensor* tensor : model_.tensors()) {
      if (const auto it = made_.find(tensor); it != made_.end()) {
        std::move(it->second.begin(), it->second.end(), std::back_inserter(weights));
      } else if (!taken_.contains(tensor)) {
        if (!Traits(tensor->dtype).type) {
          return Fail(ErrorCode::kUnsupported, "tensor '{}' holds {}, which no GGUF file can", tensor->name,
                      Traits(tensor->dtype).name);
        }
        weights.push_back(std::make_shared<const StoredWeight>(tensor->name, *tensor));
      }
    }
    return weights;
  }

 private:
  static constexpr std::string_view kWeight = ".weight";
  static constexpr std::string_view kPacked = ".qweight";
  static constexpr std::string_view kBlocks = "_proj_blocks";

  bool IsMlx(const SafetensorsTensor& tensor) const {
    return config_.quantization && config_.quantization->method == "mlx" && tensor.dtype == SafetensorsDtype::kU32;
  }

  // "model.layers.0.mlp.switch_mlp.up_proj.weight", as MLX's tools call it, or "...mlp.experts.up_proj.weight", where
  // gpt-oss has it: a projection of all experts.
  static bool IsStack(const SafetensorsTensor& tensor) {
    std::string_view name = tensor.name;
    if (!name.ends_with("_proj.weight")) return false;
    name.remove_suffix(kWeight.size());
    name = name.substr(0, name.rfind('.'));
    return name.ends_with(".switch_mlp") || name.ends_with(".experts");
  }

  template <class Packed>
  void Add(const SafetensorsTensor& tensor, std::string name, Packed packed, uint64_t bytes,
           std::optional<uint32_t> expert = {}) {
    made_[&tensor].push_back(std::make_shared<const StoredWeight>(std::move(name), std::move(packed), bytes, expert));
  }

  // The tensor beside `tensor`, whose name is `base` and `suffix`; taken, so that it is no weight of its own.
  const SafetensorsTensor* Take(const std::string& base, std::string_view suffix) {
    const SafetensorsTensor* found = model_.FindTensor(base + std::string(suffix));
    if (found != nullptr) taken_.insert(found);
    return found;
  }

  tl::unexpected<Error> Lacks(const SafetensorsTensor& tensor, std::string_view base, std::string_view suffix) const {
    return Fail(ErrorCode::kDataLoss,
                "tensor '{}' has no '{}{}' beside it: the checkpoint is not whole; fetch it or convert it anew",
                tensor.name, base, suffix);
  }

  Result<GroupedIntsFormat> FormatOfInts(const SafetensorsTensor& tensor) const {
    if (!config_.quantization || (config_.quantization->method != "gptq" && config_.quantization->method != "awq")) {
      return Fail(ErrorCode::kDataLoss, "tensor '{}' is packed, but quantization_config names neither gptq nor awq",
                  tensor.name);
    }
    const HfQuantization& from = *config_.quantization;
    const bool gptq = from.method == "gptq";
    return GroupedIntsFormat{.packing = gptq ? GroupedIntsFormat::Packing::kGptq : GroupedIntsFormat::Packing::kAwq,
                             .bits = from.bits,
                             .group_size = from.group_size,
                             .zero_bias = gptq && from.checkpoint_format != "gptq_v2" ? 1u : 0u};
  }

  Status AddGroupedInts(const SafetensorsTensor& qweight) {
    const std::string base = qweight.name.substr(0, qweight.name.size() - kPacked.size());
    const auto format = FormatOfInts(qweight);
    if (!format) return tl::make_unexpected(format.error());
    const formats::GroupedIntsTensors tensors{.qweight = &qweight,
                                              .qzeros = Take(base, ".qzeros"),
                                              .scales = Take(base, ".scales"),
                                              .group_of = Take(base, ".g_idx")};
    if (tensors.qzeros == nullptr) return Lacks(qweight, base, ".qzeros");
    if (tensors.scales == nullptr) return Lacks(qweight, base, ".scales");
    auto ints = formats::GroupedInts::Open(tensors, *format);
    if (!ints) return Forward(ints);
    const uint64_t bytes = qweight.data.size() + tensors.qzeros->data.size() + tensors.scales->data.size();
    Add(qweight, base + ".weight", std::move(*ints), bytes);
    return {};
  }

  Status AddMlx(const SafetensorsTensor& weight) {
    if (!weight.name.ends_with(kWeight)) return {};  // what it is will be asked of its name
    const std::string base = weight.name.substr(0, weight.name.size() - kWeight.size());
    const SafetensorsTensor* scales = Take(base, ".scales");
    if (scales == nullptr) return Lacks(weight, base, ".scales");
    const auto own = config_.quantization->mlx_layers.find(base);
    const bool has_own = own != config_.quantization->mlx_layers.end();
    const formats::HfMlxForm& form = has_own ? own->second : config_.quantization->mlx;
    if (form.mode == "mxfp4") return AddMxfp4(weight, *scales);
    const SafetensorsTensor* biases = Take(base, ".biases");
    if (biases == nullptr) return Lacks(weight, base, ".biases");
    const uint64_t bytes = weight.data.size() + scales->data.size() + biases->data.size();
    if (!IsStack(weight)) {
      auto groups = formats::AffineGroups::Open(weight, *scales, *biases, form.group_size);
      if (!groups) return Forward(groups);
      Add(weight, weight.name, std::move(*groups), bytes);
      return {};
    }
    return ForEachExpert(weight, [&](uint32_t e) -> Status {
      auto groups = formats::AffineGroups::OpenExpert(weight, *scales, *biases, form.group_size, e);
      if (!groups) return Forward(groups);
      Add(weight, weight.name, std::move(*groups), bytes / weight.shape[0], e);
      return {};
    });
  }

  Status AddMxfp4(const SafetensorsTensor& weight, const SafetensorsTensor& scales) {
    const uint64_t bytes = weight.data.size() + scales.data.size();
    if (!IsStack(weight)) {  // a stack of one
      SafetensorsTensor words = weight, exponents = scales;
      words.shape.insert(words.shape.begin(), 1);
      exponents.shape.insert(exponents.shape.begin(), 1);
      auto blocks = formats::Mxfp4Expert::OpenWords(words, exponents, 0);
      if (!blocks) return Forward(blocks);
      Add(weight, weight.name, std::move(*blocks), bytes);
      return {};
    }
    return ForEachExpert(weight, [&](uint32_t e) -> Status {
      auto blocks = formats::Mxfp4Expert::OpenWords(weight, scales, e);
      if (!blocks) return Forward(blocks);
      Add(weight, weight.name, std::move(*blocks), bytes / weight.shape[0], e);
      return {};
    });
  }

  // Experts in plain numbers.
  Status AddStack(const SafetensorsTensor& weight) {
    return ForEachExpert(weight, [&](uint32_t e) -> Status {
      const auto own = formats::SliceExpert(weight, e);
      if (!own) return tl::make_unexpected(own.error());
      made_[&weight].push_back(std::make_shared<const StoredWeight>(weight.name, *own, e));
      return {};
    });
  }

  // Of a stack that is one of as many experts as the model has.
  template <class F>
  Status ForEachExpert(const SafetensorsTensor& stack, const F& add) const {
    if (auto checked = formats::CheckKind(stack, {stack.dtype}, 3); !checked) return checked;
    if (auto checked = CheckExpertCount(stack); !checked) return checked;
    for (uint32_t e = 0; e < stack.shape[0]; ++e) {
      if (auto added = add(e); !added) return added;
    }
    return {};
  }

  Status CheckExpertCount(const SafetensorsTensor& stack) const {
    const uint64_t found = stack.shape.empty() ? 0 : stack.shape[0], wanted = config_.experts.value_or(0);
    if (found == wanted) return {};
    return Fail(ErrorCode::kDataLoss,
                "tensor '{}' has {} experts, but {} has {}: not of one model; fetch the checkpoint or convert it anew",
                stack.name, found, config_.raw.source(), wanted);
  }

  Status AddFp8(const SafetensorsTensor& weight) {
    if (!weight.name.ends_with(kWeight)) return {};  // what it is will be asked of its name
    const std::string base = weight.name.substr(0, weight.name.size() - kWeight.size());
    const SafetensorsTensor* scales = Take(base, ".weight_scale");
    const SafetensorsTensor* block_scales = Take(base, ".weight_scale_inv");
    Take(base, ".input_scale");  // of activations, which are not made 8-bit floats here
    if (scales != nullptr && block_scales != nullptr) {
      return Fail(ErrorCode::kDataLoss, "tensors '{}' and '{}' both scale '{}'", scales->name, block_scales->name,
                  weight.name);
    }
    if (scales == nullptr) scales = block_scales;
    if (scales == nullptr) return Lacks(weight, base, ".weight_scale");
    std::array<uint32_t, 2> block{};
    if (config_.quantization) {
      const auto& sizes = config_.quantization->weight_block_size;
      if (!sizes.empty() && sizes.size() != 2)
        return Fail(ErrorCode::kDataLoss, "{}: weight_block_size should be two sizes", config_.raw.source());
      std::copy(sizes.begin(), sizes.end(), block.begin());
    }
    auto fp8 = formats::ScaledFp8::Open(weight, *scales, block);
    if (!fp8) return Forward(fp8);
    const uint64_t bytes = weight.data.size() + scales->data.size();
    Add(weight, weight.name, std::move(*fp8), bytes);
    return {};
  }

  // All experts of "...mlp.experts.gate_up_proj_blocks" or "...down_proj_blocks", with their biases.
  Status AddExperts(const SafetensorsTensor& blocks) {
    const std::string base = blocks.name.substr(0, blocks.name.size() - std::string_view("_blocks").size());
    const SafetensorsTensor* scales = Take(base, "_scales");
    const SafetensorsTensor* biases = Take(base, "_bias");
    if (scales == nullptr) return Lacks(blocks, base, "_scales");
    struct Projection {
      const char* name;
      formats::RowsInTurn rows;
    };
    constexpr std::string_view kFused = "gate_up_proj";
    const bool fused = base.ends_with(kFused);
    const std::vector<Projection> projections =
        fused ? std::vector<Projection>{{"gate_proj", {0, 2}}, {"up_proj", {1, 2}}}
              : std::vector<Projection>{{"down_proj", {0, 1}}};
    const std::string prefix = base.substr(0, base.rfind('.') + 1);
    if (auto checked = CheckExpertCount(blocks); !checked) return checked;
    const uint64_t experts = config_.experts.value_or(0);
    for (const auto& [name, rows] : projections) {
      for (uint64_t e = 0; e < experts; ++e) {
        auto expert = formats::Mxfp4Expert::Open(blocks, *scales, e, rows);
        if (!expert) return Forward(expert);
        const uint64_t bytes = (blocks.data.size() + scales->data.size()) / experts / projections.size();
        Add(blocks, fmt::format("{}{}.{}.weight", prefix, e, name), std::move(*expert), bytes);
      }
      if (biases == nullptr) continue;
      auto of_all = formats::ExpertBiases::Open(*biases, rows);
      if (!of_all) return Forward(of_all);
      const uint64_t bytes = biases->data.size() / projections.size();
      Add(blocks, fmt::format("{}{}.bias", prefix, name), std::move(*of_all), bytes);
    }
    return {};
  }

  const HfConfig& config_;
  const formats::SafetensorsModel& model_;
  std::unordered_map<const SafetensorsTensor*, std::vector<std::shared_ptr<const StoredWeight>>> made_;
  std::unordered_set<const SafetensorsTensor*> taken_;
};

}  // namespace

Result<std::vector<std::shared_ptr<const StoredWeight>>> CollectWeights(const HfConfig& config,
                                                                        const formats::SafetensorsModel& model) {
  auto weights = Collector(config, model).Run();
  if (!weights) return Forward(weights, config.raw.source());
  return weights;
}

}  // namespace inferflux::model
