#include "apps/inferflux_bench/work_model.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>

#include "compute/cpu/packing/packed_matrix.h"
#include "compute/recurrent_state.h"

namespace inferflux::apps {
namespace {

// FP8 is multiplied as floats.
MatmulUnit UnitOf(const model::ModelSource::Tensor& tensor) {
  formats::TensorType type = tensor.matrix.type;
  if (tensor.layout) {
    if (std::holds_alternative<formats::Fp8Layout>(tensor.layout->stored)) return MatmulUnit::kFloat;
    if (const auto* ordered = std::get_if<formats::ActOrderLayout>(&tensor.layout->stored)) type = ordered->type;
  }
  if (formats::Traits(type).block_elements > 1) return MatmulUnit::kInt8;
  return type == formats::TensorType::kBf16 ? MatmulUnit::kBf16 : MatmulUnit::kFloat;
}

double RateOf(MatmulUnit unit, const Ceilings& ceilings) {
  switch (unit) {
    case MatmulUnit::kInt8:
      return ceilings.int8_operations;
    case MatmulUnit::kBf16:
      return ceilings.bf16_operations;
    case MatmulUnit::kFloat:
      return ceilings.float_operations;
  }
  return ceilings.float_operations;
}

// Q8_0 whose values fit four bits is held in four bits. Counting the file's bytes would give shares above 1.
int64_t BytesToRead(const model::ModelSource::Tensor& tensor, ThreadPool* packs) {
  namespace cpu = compute::cpu;
  const compute::HostMatrix& matrix = tensor.matrix;
  const bool may_pack = packs != nullptr && matrix.type == formats::TensorType::kQ8_0;
  if (!may_pack || matrix.data.empty()) return tensor.file_bytes;
  const int64_t panels = (matrix.rows + cpu::kPanel - 1) / cpu::kPanel;
  return std::min(tensor.file_bytes, panels * cpu::PanelBytes(cpu::FormatOf(matrix, *packs), matrix.cols));
}

bool MakesKeysOrValues(std::string_view name) {
  return name.find(".attn_k.") != name.npos || name.find(".attn_v.") != name.npos ||
         name.find(".attn_qkv.") != name.npos;
}

}  // namespace

WorkModel DescribeWork(const model::ModelSource& source, const model::ModelConfig& config, int64_t kv_token_bytes,
                       ThreadPool* packs) {
  WorkModel out;
  const bool tied = source.Find("output.weight") == nullptr;
  const std::string last_layer = "blk." + std::to_string(config.layers - 1) + ".";
  double by_unit[3] = {};
  for (const model::ModelSource::Tensor* tensor : source.Tensors()) {
    const compute::HostMatrix& matrix = tensor->matrix;
    if (matrix.rows < 2) continue;
    // A token reads only the experts that it is routed to.
    const bool experts = matrix.name.find("_exps.") != std::string::npos && config.moe.experts > 0;
    const double share = experts ? static_cast<double>(config.moe.routing.used) / config.moe.experts : 1.0;
    const double bytes = share * static_cast<double>(BytesToRead(*tensor, packs));
    const double operations = 2.0 * share * static_cast<double>(matrix.rows) * static_cast<double>(matrix.cols);
    if (matrix.name == "output.weight" || (tied && matrix.name == "token_embd.weight")) {
      out.output_bytes = bytes;
      out.output_operations = operations;
    } else if (matrix.name.starts_with("blk.")) {
      out.layer_bytes += bytes;
      out.layer_operations += operations;
      if (config.causal && matrix.name.starts_with(last_layer) && !MakesKeysOrValues(matrix.name)) {
        out.last_operations += operations;
      }
      by_unit[static_cast<int>(UnitOf(*tensor))] += operations;
    }
  }
  out.unit = static_cast<MatmulUnit>(std::max_element(std::begin(by_unit), std::end(by_unit)) - std::begin(by_unit));
  out.kv_bytes = static_cast<double>(kv_token_bytes);
  out.state_bytes = static_cast<double>(compute::StateBytes(StateLayers(config)));
  const auto attends = [](const model::LayerKind& kind) { return kind.kv.heads > 0; };
  const auto attending = std::ranges::count_if(config.layer_kinds, attends);
  const double of_a_layer = 4.0 * config.heads * config.head_dim;
  out.attention_operations = static_cast<double>(attending) * of_a_layer;
  if (config.causal && attending > 0 && attends(config.layer_kinds.back())) out.last_attention_operations = of_a_layer;
  return out;
}

int64_t MemoryFor(const WorkModel& work, int tokens, int sequences) {
  constexpr int64_t kStatesOfOne = 4, kHalves = 2;  // as PlanKv divides it
  const int64_t kv = static_cast<int64_t>(work.kv_bytes) * tokens * sequences;
  const int64_t states = static_cast<int64_t>(work.state_bytes) * kStatesOfOne * sequences;
  return states > 0 ? kHalves * std::max(kv, states) : kv;
}

Bound LeastTime(const WorkModel& work, const StepShape& step, const Ceilings& ceilings) {
  const double rows = static_cast<double>(step.sequences) * step.tokens;
  const double seen = step.position + (step.tokens + 1) / 2.0;  // positions for each row, on average
  const double bytes = work.layer_bytes + work.output_bytes + 2 * work.state_bytes * step.sequences +
                       work.kv_bytes * step.sequences * (step.position + static_cast<double>(step.tokens));
  const double silent = rows - step.sequences;  // rows without a requested output: only the last row of each sequence
                                                // has one
  const double products =
      rows * work.layer_operations - silent * work.last_operations + step.sequences * work.output_operations;
  const double scores = rows * work.attention_operations - silent * work.last_attention_operations;
  const double compute = products / RateOf(work.unit, ceilings) + seen * scores / ceilings.float_operations;
  const double reading = bytes / ceilings.read_bytes;
  if (reading >= compute) return {reading, "bandwidth"};
  return {compute, "compute"};
}

}  // namespace inferflux::apps
