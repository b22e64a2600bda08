// Collects the weights of a checkpoint: finds which tensors belong together, by its quantisation. The methods of each
// quantisation are in a separate file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "formats/huggingface/hf_config.h"
#include "formats/quantized_checkpoints/tensor_checks.h"
#include "formats/safetensors/safetensors_model.h"
#include "model/huggingface/stored_weight.h"

namespace inferflux::model {

class WeightCollector {
 public:
  WeightCollector(const formats::HfConfig& config, const formats::SafetensorsModel& model)
      : config_(config), model_(model) {}

  Result<std::vector<std::shared_ptr<const StoredWeight>>> Run();

 private:
  using Tensor = formats::SafetensorsTensor;
  static constexpr std::string_view kWeight = ".weight";
  static constexpr std::string_view kWeightPacked = ".weight_packed";

  // GPTQ, AWQ and 8-bit floats: collect_weights.cpp.
  Result<formats::GroupwiseIntsFormat> FormatOfInts(const Tensor& tensor) const;
  Status AddGroupwiseInts(const Tensor& qweight);
  Status AddFp8(const Tensor& weight);
  Result<std::array<uint32_t, 2>> Fp8Block(const Tensor& weight, const Tensor& scales) const;

  // compressed-tensors and ModelOpt: collect_compressed.cpp.
  bool IsInt8(const Tensor& tensor) const;
  Status AddPacked(const Tensor& packed);
  Status AddInt8(const Tensor& weight);
  Status AddCompressedTensors(const Tensor& weight, const std::string& base, const Tensor* shape);
  Status AddMxfp4Matrix(const Tensor& packed, const std::string& base);
  bool IsModelOptNvfp4(const Tensor& tensor) const;
  Status AddModelOptNvfp4(const Tensor& weight);
  Status AddNvfp4(const Tensor& packed, const std::string& base, const Tensor& tensor_scale,
                  formats::Nvfp4::ScaleUse how);

  // MLX's groups, and stacked or fused experts: collect_stacks.cpp.
  bool IsMlx(const Tensor& tensor) const;
  static bool IsStack(const Tensor& tensor);
  Status AddMlx(const Tensor& weight);
  Status AddMxfp4(const Tensor& weight, const Tensor& scales);
  Status AddStack(const Tensor& weight);
  static bool IsFused(const Tensor& tensor);
  Status AddFused(const Tensor& weight);
  bool HasColumns(const Tensor& stack, bool both) const;
  Status AddExperts(const Tensor& blocks);
  Status CheckExpertCount(const Tensor& stack) const;
  // Requires a stack with as many experts as the model has.
  template <class F>
  Status ForEachExpert(const Tensor& stack, const F& add) const {
    if (auto checked = formats::CheckKind(stack, {stack.dtype}, 3); !checked) return checked;
    if (auto checked = CheckExpertCount(stack); !checked) return checked;
    for (uint32_t e = 0; e < stack.shape[0]; ++e) {
      if (auto added = add(e); !added) return added;
    }
    return {};
  }

  template <class Packed>
  void Add(const Tensor& tensor, std::string name, Packed packed, uint64_t bytes, std::optional<uint32_t> expert = {}) {
    made_[&tensor].push_back(std::make_shared<const StoredWeight>(std::move(name), std::move(packed), bytes, expert));
  }

  // The tensor named `base` + `suffix`. It is marked as taken, so it does not count as a separate weight.
  const Tensor* Take(const std::string& base, std::string_view suffix);
  tl::unexpected<Error> Lacks(const Tensor& tensor, std::string_view base, std::string_view suffix) const;

  const formats::HfConfig& config_;
  const formats::SafetensorsModel& model_;
  std::unordered_map<const Tensor*, std::vector<std::shared_ptr<const StoredWeight>>> made_;
  std::unordered_set<const Tensor*> taken_;
};

}  // namespace inferflux::model
