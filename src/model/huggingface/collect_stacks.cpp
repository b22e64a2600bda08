// MLX's groups, and stacked or fused experts.
#include "formats/quantized_checkpoints/stacked_experts.h"
#include "model/huggingface/weight_collector.h"

namespace inferflux::model {

using formats::SafetensorsDtype;
using formats::SafetensorsTensor;

bool WeightCollector::IsMlx(const SafetensorsTensor& tensor) const {
  return config_.quantization && config_.quantization->method == "mlx" && tensor.dtype == SafetensorsDtype::kU32;
}

// "model.layers.0.mlp.switch_mlp.up_proj.weight" or "...mlp.experts.up_proj.weight", MLX's names for one projection of
// all experts.
bool WeightCollector::IsStack(const SafetensorsTensor& tensor) {
  std::string_view name = tensor.name;
  if (!name.ends_with("_proj.weight")) return false;
  name.remove_suffix(kWeight.size());
  name = name.substr(0, name.rfind('.'));
  return name.ends_with(".switch_mlp") || name.ends_with(".experts");
}

Status WeightCollector::AddMlx(const SafetensorsTensor& weight) {
  if (!weight.name.ends_with(kWeight)) return {};  // PlanTensors decides by its name
  const std::string base = weight.name.substr(0, weight.name.size() - kWeight.size());
  const SafetensorsTensor* scales = Take(base, ".scales");
  if (scales == nullptr) return Lacks(weight, base, ".scales");
  const auto own = config_.quantization->mlx_layers.find(base);
  const bool has_own = own != config_.quantization->mlx_layers.end();
  const formats::HfMlxLayout& layout = has_own ? own->second : config_.quantization->mlx;
  if (layout.mode == "mxfp4") return AddMxfp4(weight, *scales);
  const SafetensorsTensor* biases = Take(base, ".biases");
  if (biases == nullptr) return Lacks(weight, base, ".biases");
  const uint64_t bytes = weight.data.size() + scales->data.size() + biases->data.size();
  if (!IsStack(weight)) {
    auto groups = formats::MlxAffineWeights::Open(weight, *scales, *biases, layout.group_size);
    if (!groups) return Forward(groups);
    Add(weight, weight.name, std::move(*groups), bytes);
    return {};
  }
  return ForEachExpert(weight, [&](uint32_t e) -> Status {
    auto groups = formats::MlxAffineWeights::OpenExpert(weight, *scales, *biases, layout.group_size, e);
    if (!groups) return Forward(groups);
    Add(weight, weight.name, std::move(*groups), bytes / weight.shape[0], e);
    return {};
  });
}

Status WeightCollector::AddMxfp4(const SafetensorsTensor& weight, const SafetensorsTensor& scales) {
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

// Experts that are not quantised.
Status WeightCollector::AddStack(const SafetensorsTensor& weight) {
  return ForEachExpert(weight, [&](uint32_t e) -> Status {
    const auto own = formats::SliceExpert(weight, e);
    if (!own) return Forward(own);
    made_[&weight].push_back(std::make_shared<const StoredWeight>(weight.name, *own, e));
    return {};
  });
}

// "...experts.gate_up_proj" and "...experts.down_proj", as transformers holds experts, and "...input_linear.weight" and
// "...output_linear.weight", as IBM's models do. The first of each is gate and up in one.
bool WeightCollector::IsFused(const SafetensorsTensor& tensor) {
  const std::string_view name = tensor.name;
  if (name.ends_with(".experts.gate_up_proj") || name.ends_with(".input_linear.weight")) return true;
  return name.ends_with(".experts.down_proj") || (name.ends_with(".output_linear.weight") && tensor.shape.size() == 3);
}

// Whether the matrix of one expert is [inputs, outputs]. `both`: gate and up.
bool WeightCollector::HasColumns(const SafetensorsTensor& stack, bool both) const {
  if (stack.shape.size() != 3 || config_.expert_stack == formats::HfExpertStack::kRows) return false;
  if (config_.expert_stack == formats::HfExpertStack::kColumns) return true;
  const uint64_t width = config_.hidden_size, rows = stack.shape[1], cols = stack.shape[2];
  return both ? rows == width && cols != width : cols == width && rows != width;
}

// A matrix, or one for each expert: as NAME.gate and NAME.up, or as NAME.stack. Names of matrices stored as [inputs,
// outputs] end with _columns, and NAME.gate_columns and NAME.up_columns have all of both.
Status WeightCollector::AddFused(const SafetensorsTensor& weight) {
  std::string base = weight.name;
  if (base.ends_with(kWeight)) base.resize(base.size() - kWeight.size());
  const bool both = base.ends_with("gate_up_proj") || base.ends_with("input_linear");
  const auto add = [&](const SafetensorsTensor& one, std::optional<uint32_t> expert) -> Status {
    const auto keep = [&](const char* name, const SafetensorsTensor& rows) {
      made_[&weight].push_back(std::make_shared<const StoredWeight>(base + name, rows, expert));
    };
    if (HasColumns(weight, both)) {
      for (const char* name :
           both ? std::vector{".gate_columns.weight", ".up_columns.weight"} : std::vector{".stack_columns.weight"}) {
        keep(name, one);
      }
      return {};
    }
    if (!both) {
      keep(".stack.weight", one);
      return {};
    }
    if (one.shape.size() != 2 || one.shape[0] % 2 != 0 || one.shape[0] == 0) {
      return Fail(ErrorCode::kDataLoss, "tensor '{}' should hold as many rows of a gate as of its values", weight.name);
    }
    const size_t half = one.data.size() / 2;
    SafetensorsTensor part = one;
    part.shape[0] /= 2;
    part.data = one.data.first(half);
    keep(".gate.weight", part);
    part.data = one.data.subspan(half);
    keep(".up.weight", part);
    return {};
  };
  if (weight.shape.size() == 2) return add(weight, {});
  return ForEachExpert(weight, [&](uint32_t e) -> Status {
    const auto own = formats::SliceExpert(weight, e);
    return own ? add(*own, e) : Status(Forward(own));
  });
}

Status WeightCollector::CheckExpertCount(const SafetensorsTensor& stack) const {
  const uint64_t found = stack.shape.empty() ? 0 : stack.shape[0], wanted = config_.experts.value_or(0);
  if (found == wanted) return {};
  return Fail(ErrorCode::kDataLoss,
              "tensor '{}' has {} experts, but {} has {}: different models; fetch the checkpoint or convert it anew",
              stack.name, found, config_.raw.source(), wanted);
}

// All experts of "...mlp.experts.gate_up_proj_blocks" or "...down_proj_blocks", with their biases.
Status WeightCollector::AddExperts(const SafetensorsTensor& blocks) {
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
  const std::vector<Projection> projections = fused
                                                  ? std::vector<Projection>{{"gate_proj", {0, 2}}, {"up_proj", {1, 2}}}
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

}  // namespace inferflux::model
