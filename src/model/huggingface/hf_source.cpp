#include "model/huggingface/hf_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/huggingface/directory_vocab.h"
#include "model/huggingface/layer_values.h"
#include "model/huggingface/metadata.h"
#include "model/huggingface/sentence_modules.h"
#include "model/huggingface/tensor_plan.h"

namespace inferflux::model {
namespace {

// The owner of everything that a directory's tensors point into.
struct Directory {
  formats::SafetensorsModel checkpoint;
  std::vector<formats::SafetensorsModel> dense_modules;
  std::vector<TensorRecipe> plan;
};

// A tensor whose stored layout differs from GGUF's is made at each request, and freed after use.
Result<std::vector<ModelSource::Tensor>> Tensors(const std::shared_ptr<const Directory>& directory) {
  std::vector<ModelSource::Tensor> tensors;
  for (const TensorRecipe& recipe : directory->plan) {
    for (size_t i = 0; i < std::max<size_t>(1, recipe.parts.size()); ++i) {
      auto part = DescribeTensorPart(recipe, i);
      if (!part) return Forward(part);
      const std::string name =
          recipe.per_expert ? ModelSource::ExpertName(recipe.name, static_cast<int32_t>(i)) : recipe.name;
      const compute::HostMatrix matrix{name, part->type, part->rows, part->cols, part->data, nullptr};
      const auto make = [matrix, recipe = &recipe, i]() -> Result<compute::HostMatrix> {
        auto made = ReadTensorPart(*recipe, i);
        if (!made) return Forward(made);
        auto values = std::make_shared<const std::vector<std::byte>>(std::move(made->owned));
        compute::HostMatrix out = matrix;
        out.data = *values;
        out.owner = std::move(values);
        return out;
      };
      const uint64_t file_bytes = recipe.parts.empty() ? part->data.size() : recipe.parts[i]->stored_bytes();
      tensors.push_back({matrix, nullptr, {}, static_cast<int64_t>(file_bytes)});
      if (part->data.empty()) tensors.back().make = make;
      if (auto layout = LayoutOfPart(recipe, i)) {
        const formats::WeightLayout stored = layout->stored;
        tensors.back().layout =
            ModelSource::Tensor::Layout{stored, [layout = std::move(*layout)] { return layout.Make(); }};
      }
    }
  }
  return tensors;
}

}  // namespace

Result<std::shared_ptr<const ModelSource>> OpenHuggingFace(const std::string& path) {
  const auto known = ReadHfDirectory(path);
  if (!known) return Forward(known);
  const auto& [config, family] = *known;
  auto checkpoint = formats::SafetensorsModel::Open(path);
  if (!checkpoint) return Forward(checkpoint);
  formats::GgufMetadataBuilder metadata;
  if (auto written = WriteHfMetadata(config, family, metadata); !written) return Forward(written);
  if (auto written = WriteLayerValues(config, family, *checkpoint, metadata); !written) return Forward(written);
  const std::string prefix = std::string(family.architecture) + ".";
  if (auto written = WriteSentenceModules(path, config, prefix, metadata); !written) return Forward(written);
  // A directory without a tokenizer is still a model, but it cannot be served.
  if (HasVocab(path)) {
    if (auto written = WriteDirectoryVocab(path, config, "", metadata); !written) return Forward(written);
  }
  auto plan = PlanTensors(config, family, *checkpoint);
  if (!plan) return Forward(plan);
  auto dense = OpenDenseModules(path, config);
  if (!dense) return Forward(dense);
  if (auto planned = PlanDenseModules(*dense, &*plan); !planned) return Forward(planned, path);

  auto directory = std::make_shared<const Directory>(
      Directory{.checkpoint = std::move(*checkpoint), .dense_modules = std::move(*dense), .plan = std::move(*plan)});
  auto tensors = Tensors(directory);
  if (!tensors) return Forward(tensors, path);
  return std::make_shared<const ModelSource>(path, "huggingface", metadata.Build(path), std::move(*tensors), directory);
}

}  // namespace inferflux::model
