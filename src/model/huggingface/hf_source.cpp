#include "model/huggingface/hf_source.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "model/huggingface/directory_vocab.h"
#include "model/huggingface/metadata.h"
#include "model/huggingface/metadata_file.h"
#include "model/huggingface/tensor_plan.h"

namespace inferflux::model {
namespace {

// All that a source of a directory looks into.
struct Directory {
  formats::SafetensorsModel checkpoint;
  std::shared_ptr<const formats::GgufFile> metadata;
  std::vector<TensorRecipe> plan;
  std::vector<std::vector<std::byte>> changed;
};

Result<std::vector<compute::HostMatrix>> Tensors(Directory* directory) {
  std::vector<compute::HostMatrix> tensors;
  for (const TensorRecipe& recipe : directory->plan) {
    for (size_t i = 0; i < std::max<size_t>(1, recipe.parts.size()); ++i) {
      auto part = ReadTensorPart(recipe, i);
      if (!part) return Forward(part);
      const std::string name =
          recipe.per_expert ? ModelSource::ExpertName(recipe.name, static_cast<int32_t>(i)) : recipe.name;
      tensors.push_back({name, part->type, part->rows, part->cols, part->data});
      if (!part->owned.empty()) directory->changed.push_back(std::move(part->owned));  // moving keeps the bytes' place
    }
  }
  return tensors;
}

}  // namespace

Result<std::shared_ptr<const ModelSource>> OpenHuggingFace(const std::string& path) {
  auto config = formats::ReadHfConfig(path);
  if (!config) return Forward(config);
  const auto family = FindHfFamily(*config);
  if (!family) return tl::make_unexpected(family.error());
  auto checkpoint = formats::SafetensorsModel::Open(path);
  if (!checkpoint) return Forward(checkpoint);
  // A directory without a tokenizer is a model all the same, though none that can be served.
  std::error_code ignored;
  const bool has_vocab = std::filesystem::exists(std::filesystem::path(path) / "tokenizer.json", ignored);
  const auto write_metadata = [&](formats::GgufWriter& writer) -> Status {
    if (auto written = WriteHfMetadata(*config, **family, writer); !written) return written;
    return has_vocab ? WriteDirectoryVocab(path, *config, "", writer) : Status();
  };
  auto metadata = MakeMetadataFile(write_metadata, path);
  if (!metadata) return Forward(metadata);
  auto plan = PlanTensors(*config, **family, *checkpoint);
  if (!plan) return Forward(plan);

  auto directory = std::make_shared<Directory>(Directory{
      .checkpoint = std::move(*checkpoint), .metadata = std::move(*metadata), .plan = std::move(*plan), .changed = {}});
  auto tensors = Tensors(directory.get());
  if (!tensors) return Forward(tensors, path);
  return std::make_shared<const ModelSource>(path, "huggingface", directory->metadata->metadata(), std::move(*tensors), directory);
}

}  // namespace inferflux::model
