#include "apps/inferflux_convert/convert.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "formats/gguf/gguf_writer.h"
#include "formats/quantize/tensor_stream.h"
#include "model/huggingface/directory_vocab.h"
#include "model/huggingface/layer_values.h"
#include "model/huggingface/metadata.h"
#include "model/huggingface/sentence_modules.h"
#include "model/huggingface/tensor_plan.h"

namespace inferflux::apps {
namespace {

using formats::GgufTensor;
using formats::HfConfig;
using formats::TensorType;
using model::TensorRecipe;

// The file types for a checkpoint of a single element type.
constexpr std::pair<TensorType, uint32_t> kFileTypes[] = {
    {TensorType::kF32, 0}, {TensorType::kF16, 1}, {TensorType::kBf16, 32}};

// One tensor of the output: shape and type, before any of its data is read.
struct Target {
  const TensorRecipe* recipe = nullptr;
  GgufTensor shape;  // without data; its type is the checkpoint's
  TensorType type = TensorType::kF32;
  uint64_t source_bytes = 0;
};

// GGUF has the fastest dimension first, checkpoints last.
Result<GgufTensor> ShapeOf(const TensorRecipe& recipe) {
  GgufTensor tensor{.name = recipe.name};
  std::vector<uint64_t> dims{recipe.computed.size()};
  if (!recipe.parts.empty()) {
    const model::StoredWeight& first = *recipe.parts.front();
    tensor.type = first.type();
    dims.assign(first.shape().rbegin(), first.shape().rend());
    const bool half = recipe.change == model::TensorChange::kTransposeFirstHalf ||
                      recipe.change == model::TensorChange::kTransposeLastHalf;
    if ((recipe.change == model::TensorChange::kTranspose || half) && dims.size() == 2) std::swap(dims[0], dims[1]);
    if (half && dims.size() == 2) dims[1] /= 2;
    if (recipe.change == model::TensorChange::kDropRows && dims.size() == 2) {
      dims[1] -= std::min<uint64_t>(dims[1], recipe.dropped);
    }
    if (recipe.change == model::TensorChange::kPadRows && dims.size() == 2) dims[1] = recipe.padded;
    if (recipe.change == model::TensorChange::kColumn || recipe.change == model::TensorChange::kColumnOfNegatedExp) {
      dims.insert(dims.begin(), 1);
    }
    if (recipe.change == model::TensorChange::kGroupRows && dims.size() == 1 && recipe.groups > 0) {
      dims = {dims[0] / recipe.groups, recipe.groups};
    }
    if (const uint64_t heads = model::StackedMatrices(recipe); heads > 1 && dims.size() == 2) {
      const auto part = DescribeTensorPart(recipe, 0);
      if (!part) return Forward(part);
      tensor.type = part->type;
      dims = {static_cast<uint64_t>(part->cols), static_cast<uint64_t>(part->rows) / heads, heads};
    }
    if (dims.size() == 3 && dims[1] == 1) dims.erase(dims.begin() + 1);  // a convolution of each channel by itself
    for (const auto& part : recipe.parts) {
      // Experts may be exact in types of different sizes; as floats they are all exact.
      if (recipe.per_expert && part->type() != first.type()) tensor.type = TensorType::kF32;
      if (part->shape() != first.shape()) {
        return Fail(ErrorCode::kDataLoss, "tensors '{}' and '{}' differ in shape, but belong together", first.name(),
                    part->name());
      }
    }
    if (recipe.per_expert && dims == std::vector<uint64_t>{1}) dims.clear();  // one value for each expert: [experts]
    if (recipe.per_expert) dims.push_back(recipe.parts.size());
  }
  if (dims.empty() || dims.size() > formats::kGgufMaxDims) {
    return Fail(ErrorCode::kUnsupported, "tensor '{}' has {} dimensions; GGUF holds 1 to 4", recipe.name, dims.size());
  }
  tensor.rank = static_cast<uint32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims.begin());
  return tensor;
}

formats::MixModel DescribeForMix(const HfConfig& config, const std::vector<TensorRecipe>& plan) {
  const bool has_output =
      std::any_of(plan.begin(), plan.end(), [](const TensorRecipe& recipe) { return recipe.name == "output.weight"; });
  return {.layers = config.layers,
          .experts = config.experts.value_or(0),
          .queries_per_value_head = config.kv_heads == 0 ? 1 : config.heads / config.kv_heads,
          .tied_embeddings = !has_output};
}

Result<std::vector<Target>> ChooseTargets(const std::vector<TensorRecipe>& plan, const HfConfig& config,
                                          const formats::QuantMix* mix) {
  const formats::MixModel model = DescribeForMix(config, plan);
  // Tensors that ChooseType does not change stay float32. Every other matrix gets the type of the mix, or keeps its
  // own.
  const formats::QuantMix& chooser = mix != nullptr ? *mix : **formats::FindQuantMix("F16");
  std::vector<Target> targets;
  for (const TensorRecipe& recipe : plan) {
    auto shape = ShapeOf(recipe);
    if (!shape) return Forward(shape);
    GgufTensor probe = *shape;
    probe.type = TensorType::kF32;
    TensorType type = ChooseType(chooser, model, probe);
    if (mix == nullptr && type != TensorType::kF32) type = shape->type;
    uint64_t bytes = recipe.computed.size() * sizeof(float);
    for (const auto& part : recipe.parts) bytes += part->stored_bytes();
    targets.push_back({&recipe, *shape, type, bytes});
  }
  return targets;
}

uint32_t FileType(const ConvertOptions& options, const std::vector<Target>& targets) {
  if (options.mix != nullptr) return options.mix->file_type;
  for (const Target& target : targets) {
    for (const auto& [type, file_type] : kFileTypes) {
      if (target.shape.rank > 1 && target.type == type) return file_type;
    }
  }
  return 0;
}

Status WriteTensor(const Target& target, formats::GgufWriter& writer, ThreadPool& pool,
                   FunctionRef<void(uint64_t)> progress) {
  uint64_t done = 0;
  for (size_t i = 0; i < std::max<size_t>(1, target.recipe->parts.size()); ++i) {
    auto part = ReadTensorPart(*target.recipe, i);
    if (!part) return Forward(part);
    const GgufTensor piece{.name = target.shape.name,
                           .type = part->type,
                           .dims = {static_cast<uint64_t>(part->cols), static_cast<uint64_t>(part->rows), 1, 1},
                           .rank = 2,
                           .data = part->data};
    const auto streamed = formats::StreamTensor(piece, target.type, {}, writer, pool, [&](uint64_t bytes) {
      if (part->owned.empty() && !target.recipe->parts.empty()) formats::ReleasePages(part->data.first(bytes));
      progress(std::min(done + bytes, target.source_bytes));
    });
    if (!streamed) return Forward(streamed);
    if (!target.recipe->parts.empty()) done += target.recipe->parts[i]->stored_bytes();
  }
  return {};
}

}  // namespace

Result<ConvertSummary> Convert(const ConvertOptions& options, std::ostream& out, ThreadPool& pool,
                               ConvertProgress progress) {
  const auto known = model::ReadHfDirectory(options.directory);
  if (!known) return Forward(known);
  const auto& [config, family] = *known;
  auto checkpoint = formats::SafetensorsModel::Open(options.directory);
  if (!checkpoint) return Forward(checkpoint);
  auto plan = PlanTensors(config, family, *checkpoint);
  if (!plan) return Forward(plan, options.directory);
  const auto dense = model::OpenDenseModules(options.directory, config);
  if (!dense) return Forward(dense);
  if (auto planned = model::PlanDenseModules(*dense, &*plan); !planned) return Forward(planned, options.directory);
  auto targets = ChooseTargets(*plan, config, options.mix);
  if (!targets) return Forward(targets, options.directory);

  formats::GgufWriter writer(out);
  if (auto written = WriteHfMetadata(config, family, writer); !written) return Forward(written);
  if (auto written = WriteLayerValues(config, family, *checkpoint, writer); !written) return Forward(written);
  const std::string prefix = std::string(family.architecture) + ".";
  if (auto written = model::WriteSentenceModules(options.directory, config, prefix, writer); !written)
    return Forward(written);
  writer.Set("general.name", std::filesystem::path(options.directory).lexically_normal().filename().string());
  writer.Set<uint32_t>("general.file_type", FileType(options, *targets));
  writer.Set<uint32_t>("general.quantization_version", 2);
  auto vocab = model::WriteDirectoryVocab(options.directory, config, options.pre, writer);
  if (!vocab) return Forward(vocab);
  ConvertSummary summary;
  uint64_t total = 0;
  for (const Target& target : *targets) {
    if (auto added = writer.AddTensor(target.shape.name, target.type, target.shape.shape()); !added)
      return Forward(added);
    summary.bytes += *formats::TensorBytes(target.type, target.shape.shape());
    summary.weights += target.shape.elements();
    total += target.source_bytes;
  }
  summary.tensors = targets->size();
  if (auto written = writer.WriteHeader(); !written) return Forward(written);
  uint64_t done = 0;
  for (const Target& target : *targets) {
    const auto report = [&](uint64_t bytes) { progress(done + bytes, total, target.recipe->name); };
    if (auto written = WriteTensor(target, writer, pool, report); !written) return Forward(written);
    done += target.source_bytes;
  }
  if (auto finished = writer.Finish(); !finished) return Forward(finished);
  return summary;
}

}  // namespace inferflux::apps
