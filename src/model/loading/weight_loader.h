// Loads tensors of a source onto a device and checks their shapes against the configuration.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "compute/optional_ops.h"
#include "model/layers/linear.h"
#include "model/layers/norm.h"
#include "model/loading/missing_concept.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"
#include "model/shard.h"

namespace inferflux::model {

// One tensor of a matmul: NAME.weight, and optionally NAME.bias and NAME.scale, the per-tensor scale of the weights.
struct WeightPart {
  std::string name;
  int64_t outputs = 0;
  // A run of the tensor's outputs: [first, first + outputs) of `of`. 0: all of them.
  int64_t first = 0;
  int64_t of = 0;

  WeightPart(std::string tensor, Run run) : name(std::move(tensor)), outputs(run.count), first(run.first), of(run.of) {}
  WeightPart(std::string tensor, int64_t all) : WeightPart(std::move(tensor), Run(all)) {}
  WeightPart(std::string tensor, int64_t count, int64_t begin, int64_t all)
      : WeightPart(std::move(tensor), Run(begin, count, all)) {}
};

enum class BiasRule { kWhereFound, kRequired };

// The tensors of the norms around a sub-layer; an empty name: none.
struct NormNames {
  std::string input;
  std::string output;
  std::string residual;
};

// Joins the values of several parts, each [experts, outputs], in the order of the stacked parts.
inline std::vector<float> StackOutputs(const std::vector<std::vector<float>>& of_parts, int32_t experts) {
  std::vector<float> out;
  for (int32_t e = 0; e < experts; ++e) {
    for (const std::vector<float>& part : of_parts) {
      const auto outputs = std::ssize(part) / experts;
      out.insert(out.end(), part.begin() + e * outputs, part.begin() + (e + 1) * outputs);
    }
  }
  return out;
}

// Converts a matrix with an act-order permutation to a plain one that keeps it alive. Returns the permutation.
inline std::vector<int32_t> TakeOrder(compute::HostMatrix& matrix) {
  const std::shared_ptr<const formats::WeightLayout> layout = std::exchange(matrix.layout, nullptr);
  const auto& ordered = std::get<formats::ActOrderLayout>(*layout);
  matrix.type = ordered.type;
  matrix.data = ordered.data;
  matrix.owner = layout;
  return {ordered.order.begin(), ordered.order.end()};
}

template <compute::Backend B>
class WeightLoader {
 public:
  WeightLoader(typename B::Context& context, const ModelConfig& config, const ModelSource& source,
               const Shard& shard = {})
      : context_(context), config_(config), source_(source), shard_(shard) {}

  const ModelConfig& config() const { return config_; }
  const Shard& shard() const { return shard_; }
  bool Contains(const std::string& name) const { return source_.Find(name) != nullptr; }

  // Warns about tensors of the source that were not loaded. Call when all weights are loaded: the model ignores the
  // rest.
  void WarnOfUnused() const {
    const auto unused = source_.UnusedTensors(used_);
    if (unused.empty()) return;
    const size_t named = std::min<size_t>(unused.size(), 5);
    log::Warning("{}: the model has {} tensors that architecture '{}' does not use: {}{}", source_.path(),
                 unused.size(), config_.architecture, fmt::join(unused.begin(), unused.begin() + named, ", "),
                 named < unused.size() ? ", ..." : "");
  }

  Result<compute::Buffer<B>> LoadVector(const std::string& name, int64_t size) const;
  // The values of a matrix, on the host.
  Result<std::vector<float>> LoadValues(const std::string& name, int64_t rows, int64_t cols) const {
    return source_.Values(Use(name), rows, cols);
  }
  // The values of a matrix column by column: [1, cols * rows].
  Result<compute::Buffer<B>> LoadColumns(const std::string& name, int64_t rows, int64_t cols) const;
  // The first row of a matrix with any number of rows: [1, cols].
  Result<compute::Buffer<B>> LoadFirstRow(const std::string& name, int64_t cols) const;
  Result<typename B::Table> LoadTable(const std::string& name, int64_t rows, int64_t cols) const;

  // The model's kind of norm, from NAME.weight and, for LayerNorm with a bias, NAME.bias.
  Result<Norm<B>> LoadNorm(const std::string& name, int64_t size) const;
  // Always an RMSNorm. `epsilon`: if it is not the model's.
  Result<Norm<B>> LoadRmsNorm(const std::string& name, int64_t size, std::optional<float> epsilon = {}) const;
  // Always a LayerNorm with a bias.
  Result<Norm<B>> LoadLayerNorm(const std::string& name, int64_t size,
                                float epsilon) const requires compute::LayerNorms<B>;
  // An RMSNorm whose weights are all 1.
  Norm<B> PlainNorm(int64_t size) const {
    const std::vector<float> ones(static_cast<size_t>(size), 1.0f);
    return Norm<B>(B::LoadVector(context_, ones), config_.norm_epsilon);
  }
  // An RMSNorm whose weights are divided by the root of their number.
  Result<Norm<B>> LoadScaledNorm(const std::string& name, int64_t size) const {
    auto values = source_.Vector(Use(name), size);
    if (!values) return Forward(values);
    for (float& value : *values) value /= std::sqrt(static_cast<float>(size));
    return Norm<B>(B::LoadVector(context_, *values), config_.norm_epsilon);
  }
  // The norms of a sub-layer that the model has.
  Result<SubLayerNorms<B>> LoadSubLayerNorms(const NormNames& names) const;

  // The parts are stacked along their outputs. Either all of them have a bias, or none. Of a run of the inputs the
  // product is a part of a sum over ranks; kUnsupported if it does not begin and end with the blocks of a type.
  Result<Linear<B>> LoadLinear(const std::vector<WeightPart>& parts, Run inputs,
                               BiasRule rule = BiasRule::kWhereFound) const;

  // The `count` matrices of a stack, each by itself.
  Result<std::vector<Linear<B>>> LoadStack(const std::string& name, int32_t count, int64_t outputs,
                                           int64_t inputs) const {
    std::vector<Linear<B>> out;
    for (int32_t i = 0; i < count; ++i) {
      auto matrix = Expert(name + ".weight", i, count, outputs, inputs);
      if (!matrix) return Forward(matrix);
      auto linear = Linear<B>::Load(context_, std::span(&*matrix, 1), {});
      if (!linear) return Forward(linear);
      out.push_back(std::move(*linear));
    }
    return out;
  }

  // From NAME.weight alone, even if NAME.scale is there.
  Result<Linear<B>> LoadPlainLinear(const std::string& name, int64_t outputs, int64_t inputs) const {
    auto matrix = Matrix(name + ".weight", outputs, inputs, {});
    if (!matrix) return Forward(matrix);
    return Linear<B>::Load(context_, std::span(&*matrix, 1), {});
  }

  // The same for each of `experts` networks. The outputs of a part are those of one expert.
  Result<ExpertLinear<B>> LoadExperts(const std::vector<WeightPart>& parts, int32_t experts,
                                      int64_t inputs) const requires compute::MoeRouting<B>;

 private:
  // In the backend's preferred layout.
  Result<compute::HostMatrix> Matrix(const std::string& name, int64_t rows, int64_t cols,
                                     formats::WeightLayouts layouts = compute::kWeightLayoutsOf<B>) const {
    return source_.Matrix(Use(name), rows, cols, layouts);
  }
  Result<compute::HostMatrix> Expert(const std::string& name, int32_t expert, int32_t experts, int64_t rows,
                                     int64_t cols) const {
    return source_.Expert(Use(name), expert, experts, rows, cols, compute::kWeightLayoutsOf<B>);
  }
  const std::string& Use(const std::string& name) const { return *used_.insert(name).first; }
  // Keeps a run of the columns, in memory of its own.
  Status TakeColumns(const Run& columns, compute::HostMatrix& matrix) const;

  // Whether all parts have the same act-order permutation.
  bool ShareAnOrder(const std::vector<WeightPart>& parts) const;
  // Each [experts, sum of the parts' outputs]; empty if no part has one.
  Result<OutputTerms> Terms(const std::vector<WeightPart>& parts, int32_t experts, BiasRule rule) const;
  Result<std::vector<float>> Biases(const std::vector<WeightPart>& parts, int32_t experts, BiasRule rule) const;
  Result<std::vector<float>> TensorScales(const std::vector<WeightPart>& parts, int32_t experts) const;

  typename B::Context& context_;
  const ModelConfig& config_;
  const ModelSource& source_;
  const Shard shard_;
  mutable std::set<std::string, std::less<>> used_;
};

template <compute::Backend B>
Result<compute::Buffer<B>> WeightLoader<B>::LoadVector(const std::string& name, int64_t size) const {
  auto values = source_.Vector(Use(name), size);
  if (!values) return Forward(values);
  return B::LoadVector(context_, *values);
}

template <compute::Backend B>
Result<compute::Buffer<B>> WeightLoader<B>::LoadColumns(const std::string& name, int64_t rows, int64_t cols) const {
  const auto values = source_.Values(Use(name), rows, cols);
  if (!values) return Forward(values);
  std::vector<float> columns;
  columns.reserve(values->size());
  for (int64_t c = 0; c < cols; ++c) {
    for (int64_t r = 0; r < rows; ++r) columns.push_back((*values)[static_cast<size_t>(r * cols + c)]);
  }
  return B::LoadVector(context_, columns);
}

template <compute::Backend B>
Result<compute::Buffer<B>> WeightLoader<B>::LoadFirstRow(const std::string& name, int64_t cols) const {
  const compute::HostMatrix* found = source_.Find(name);
  auto values = source_.Values(Use(name), found == nullptr ? 1 : found->rows, cols);
  if (!values) return Forward(values);
  return B::LoadVector(context_, std::span(*values).first(static_cast<size_t>(cols)));
}

template <compute::Backend B>
Result<typename B::Table> WeightLoader<B>::LoadTable(const std::string& name, int64_t rows, int64_t cols) const {
  const std::string tensor_scale = name.substr(0, name.rfind('.')) + ".scale";
  if (Contains(tensor_scale)) {
    return Fail(ErrorCode::kUnsupported, "{}: tensor '{}' is a scale of '{}', and only matmul weights can have one",
                source_.path(), tensor_scale, name);
  }
  auto matrix = Matrix(name, rows, cols);
  if (!matrix) return Forward(matrix);
  return B::LoadTable(context_, *matrix);
}

template <compute::Backend B>
Result<Norm<B>> WeightLoader<B>::LoadNorm(const std::string& name, int64_t size) const {
  if (!config_.layer_norm) return LoadRmsNorm(name, size);
  if constexpr (compute::LayerNorms<B>) {
    if (config_.norm_bias) return LoadLayerNorm(name, size, config_.norm_epsilon);
    auto weight = LoadVector(name + ".weight", size);
    if (!weight) return Forward(weight);
    const std::vector<float> zeros(static_cast<size_t>(size));
    return Norm<B>(std::move(*weight), B::LoadVector(context_, zeros), config_.norm_epsilon);
  } else {
    return MissingConcept<B>(config_, "LayerNorms");
  }
}

template <compute::Backend B>
Result<Norm<B>> WeightLoader<B>::LoadLayerNorm(const std::string& name, int64_t size,
                                               float epsilon) const requires compute::LayerNorms<B> {
  auto weight = LoadVector(name + ".weight", size);
  if (!weight) return Forward(weight);
  auto bias = LoadVector(name + ".bias", size);
  if (!bias) return Forward(bias);
  return Norm<B>(std::move(*weight), std::move(*bias), epsilon);
}

template <compute::Backend B>
Result<Norm<B>> WeightLoader<B>::LoadRmsNorm(const std::string& name, int64_t size,
                                             std::optional<float> epsilon) const {
  auto weight = LoadVector(Contains(name) ? name : name + ".weight", size);  // a few have no suffix
  if (!weight) return Forward(weight);
  return Norm<B>(std::move(*weight), epsilon.value_or(config_.norm_epsilon));
}

template <compute::Backend B>
Result<SubLayerNorms<B>> WeightLoader<B>::LoadSubLayerNorms(const NormNames& names) const {
  SubLayerNorms<B> norms;
  const auto load = [&](bool wanted, const std::string& name, std::optional<Norm<B>>& into) -> Status {
    if (!wanted || name.empty()) return {};
    auto norm = LoadNorm(name, config_.hidden);
    if (!norm) return Forward(norm);
    into = std::move(*norm);
    return {};
  };
  if (auto loaded = load(config_.input_norms, names.input, norms.input); !loaded) return Forward(loaded);
  if (auto loaded = load(config_.output_norms, names.output, norms.output); !loaded) return Forward(loaded);
  if (auto loaded = load(config_.residual_norms, names.residual, norms.residual); !loaded) return Forward(loaded);
  return norms;
}

template <compute::Backend B>
Result<OutputTerms> WeightLoader<B>::Terms(const std::vector<WeightPart>& parts, int32_t experts, BiasRule rule) const {
  auto scales = TensorScales(parts, experts);
  if (!scales) return Forward(scales);
  auto biases = Biases(parts, experts, rule);
  if (!biases) return Forward(biases);
  return OutputTerms{std::move(*scales), std::move(*biases)};
}

// NVFP4's per-tensor scales, as llama.cpp's converter writes them. A checkpoint's scale of the activations is not
// needed, because activations are not converted to 4-bit floats here.
template <compute::Backend B>
Result<std::vector<float>> WeightLoader<B>::TensorScales(const std::vector<WeightPart>& parts, int32_t experts) const {
  bool any = false;
  for (const WeightPart& part : parts) {
    Use(part.name + ".input_scale");
    any = any || source_.HasWholeOrExperts(part.name + ".scale");
  }
  if (!any) return std::vector<float>();
  if constexpr (!compute::TensorScales<B>) return MissingConcept<B>(config_, "TensorScales");
  std::vector<std::vector<float>> of_parts;
  for (const WeightPart& part : parts) {
    const auto outputs = static_cast<size_t>(part.outputs);
    std::vector<float>& scales = of_parts.emplace_back(static_cast<size_t>(experts) * outputs, 1.0f);
    const std::string& name = Use(part.name + ".scale");
    if (!source_.HasWholeOrExperts(name)) continue;
    auto of_experts = source_.OnePerExpert(name, experts);
    if (!of_experts) return Forward(of_experts);
    for (size_t i = 0; i < scales.size(); ++i) scales[i] = (*of_experts)[i / outputs];
  }
  return StackOutputs(of_parts, experts);
}

template <compute::Backend B>
Result<std::vector<float>> WeightLoader<B>::Biases(const std::vector<WeightPart>& parts, int32_t experts,
                                                   BiasRule rule) const {
  bool any = rule == BiasRule::kRequired;
  for (const WeightPart& part : parts) any = any || Contains(part.name + ".bias");
  if (!any) return std::vector<float>();
  std::vector<std::vector<float>> of_parts;
  for (const WeightPart& part : parts) {
    auto values = source_.Values(Use(part.name + ".bias"), experts, part.of > 0 ? part.of : part.outputs);
    if (!values) return Forward(values);
    if (part.of > 0) {
      const auto first = values->begin() + part.first;
      *values = std::vector<float>(first, first + part.outputs);
    }
    of_parts.push_back(std::move(*values));
  }
  return StackOutputs(of_parts, experts);
}

template <compute::Backend B>
Status WeightLoader<B>::TakeColumns(const Run& columns, compute::HostMatrix& matrix) const {
  const formats::TensorTypeTraits& type = formats::Traits(matrix.type);
  const int64_t block = type.block_elements;
  if (columns.first % block != 0 || columns.count % block != 0) {
    return Fail(ErrorCode::kUnsupported,
                "{}: tensor '{}' is {} in blocks of {} inputs, and rank {} of {} would have inputs {} to {}; use fewer "
                "ranks",
                source_.path(), matrix.name, type.name, block, shard_.rank, shard_.parallelism.ranks(), columns.first,
                columns.first + columns.count);
  }
  const auto bytes = [&](int64_t values) { return static_cast<size_t>(values / block) * type.block_bytes; };
  const size_t row = bytes(columns.of), own = bytes(columns.count), first = bytes(columns.first);
  const auto kept = std::make_shared<std::vector<std::byte>>(own * static_cast<size_t>(matrix.rows));
  for (size_t r = 0; r < static_cast<size_t>(matrix.rows); ++r) {
    std::memcpy(kept->data() + r * own, matrix.data.data() + r * row + first, own);
  }
  matrix.data = *kept;
  matrix.owner = kept;
  matrix.cols = columns.count;
  return {};
}

template <compute::Backend B>
Result<Linear<B>> WeightLoader<B>::LoadLinear(const std::vector<WeightPart>& parts, Run inputs, BiasRule rule) const {
  formats::WeightLayouts layouts = compute::kMatmulLayoutsOf<B>;
  layouts.ordered = layouts.ordered && ShareAnOrder(parts);
  const bool sliced = std::ranges::any_of(parts, [](const WeightPart& part) { return part.of > 0; });
  if (sliced || !inputs.whole()) layouts = {};
  std::vector<compute::HostMatrix> matrices;
  std::vector<int32_t> order;
  std::optional<compute::HostMatrix> whole;  // of the part before: runs of one tensor, which may have to be made
  std::string_view name;
  for (const WeightPart& part : parts) {
    if (!whole || part.name != name) {
      auto found = Matrix(part.name + ".weight", part.of > 0 ? part.of : part.outputs,
                          inputs.whole() ? inputs.count : inputs.of, layouts);
      if (!found) return Forward(found);
      whole = std::move(*found);
      name = part.name;
    }
    std::optional<compute::HostMatrix> matrix = whole;
    if (part.of > 0) {
      const auto row_bytes = matrix->data.size() / static_cast<size_t>(part.of);
      matrix->data = matrix->data.subspan(static_cast<size_t>(part.first) * row_bytes,
                                          static_cast<size_t>(part.outputs) * row_bytes);
      matrix->rows = part.outputs;
    }
    if (!inputs.whole()) {
      if (auto taken = TakeColumns(inputs, *matrix); !taken) return Forward(taken);
    }
    if (layouts.ordered) order = TakeOrder(*matrix);
    matrices.push_back(std::move(*matrix));
  }
  auto terms = Terms(parts, 1, rule);
  if (!terms) return Forward(terms);
  auto linear = Linear<B>::Load(context_, matrices, *terms, std::move(order));
  if (linear && !inputs.whole()) linear->SumOverRanks();
  return linear;
}

template <compute::Backend B>
bool WeightLoader<B>::ShareAnOrder(const std::vector<WeightPart>& parts) const {
  const formats::ActOrderLayout* first = nullptr;
  for (const WeightPart& part : parts) {
    const formats::WeightLayout* layout = source_.LayoutOf(part.name + ".weight");
    const auto* ordered = layout == nullptr ? nullptr : std::get_if<formats::ActOrderLayout>(layout);
    if (ordered == nullptr) return false;
    if (first == nullptr) first = ordered;
    if (!std::ranges::equal(first->order, ordered->order)) return false;
  }
  return first != nullptr;
}

template <compute::Backend B>
Result<ExpertLinear<B>> WeightLoader<B>::LoadExperts(const std::vector<WeightPart>& parts, int32_t experts,
                                                     int64_t inputs) const requires compute::MoeRouting<B> {
  std::vector<std::vector<compute::HostMatrix>> of_expert(static_cast<size_t>(experts));
  for (const WeightPart& part : parts) {
    const std::string name = part.name + ".weight";
    if (!Contains(ModelSource::ExpertName(name, 0))) {  // a stack, which may have to be made: once
      auto all = Matrix(name, experts * part.outputs, inputs);
      if (!all) return Forward(all);
      const size_t bytes = all->data.size() / static_cast<size_t>(experts);
      for (int32_t e = 0; e < experts; ++e) {
        compute::HostMatrix& one = of_expert[static_cast<size_t>(e)].emplace_back(*all);
        one.data = all->data.subspan(static_cast<size_t>(e) * bytes, bytes);
        one.rows = part.outputs;
      }
      continue;
    }
    for (int32_t e = 0; e < experts; ++e) {
      auto matrix = Expert(name, e, experts, part.outputs, inputs);
      if (!matrix) return Forward(matrix);
      of_expert[static_cast<size_t>(e)].push_back(std::move(*matrix));
    }
  }
  auto terms = Terms(parts, experts, BiasRule::kWhereFound);
  if (!terms) return Forward(terms);
  return ExpertLinear<B>::Load(context_, of_expert, *terms);
}

}  // namespace inferflux::model
