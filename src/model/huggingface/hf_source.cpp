#include "model/huggingface/hf_source.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"
#include "model/huggingface/metadata.h"
#include "model/huggingface/tensor_plan.h"

namespace inferflux::model {
namespace {

// All that a source of a directory looks into.
struct Directory {
  formats::SafetensorsModel checkpoint;
  std::string metadata_file;  // a GGUF file without tensors
  std::shared_ptr<const formats::GgufFile> metadata;
  std::vector<TensorRecipe> plan;
  std::vector<std::vector<std::byte>> changed;
};

Result<std::string> MetadataFile(const formats::HfConfig& config, const HfFamily& family) {
  std::ostringstream stream;
  formats::GgufWriter writer(stream);
  if (auto written = WriteHfMetadata(config, family, writer); !written) return Forward(written);
  if (auto written = writer.WriteHeader(); !written) return Forward(written);
  if (auto written = writer.Finish(); !written) return Forward(written);
  return std::move(stream).str();
}

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
  auto metadata_file = MetadataFile(*config, **family);
  if (!metadata_file) return Forward(metadata_file);
  auto plan = PlanTensors(*config, **family, *checkpoint);
  if (!plan) return Forward(plan);

  auto directory = std::make_shared<Directory>(Directory{.checkpoint = std::move(*checkpoint),
                                                         .metadata_file = std::move(*metadata_file),
                                                         .plan = std::move(*plan)});
  auto metadata = formats::GgufFile::Parse(std::as_bytes(std::span(directory->metadata_file)), path);
  if (!metadata) return Forward(metadata);
  directory->metadata = std::move(*metadata);
  auto tensors = Tensors(directory.get());
  if (!tensors) return Forward(tensors, path);
  return std::make_shared<const ModelSource>(path, directory->metadata->metadata(), std::move(*tensors), directory);
}

}  // namespace inferflux::model
