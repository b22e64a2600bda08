#include "compute/cuda/kernels/moe.h"

#include "compute/cuda/backend/narrowed.h"
#include "compute/cuda/backend/operation.h"
#include "compute/cuda/backend/weights.h"
#include "compute/cuda/kernels/row_ops.h"
#include "compute/host/check_matrix.h"

namespace inferflux::compute {
namespace {

// The same matrix of every expert as one part.
Status LoadOfAll(Cuda::Context& context, std::span<const HostMatrix> of_all, Cuda::Experts& experts) {
  auto loaded = cuda_ops::LoadAsOne(context, of_all);
  if (!loaded) return Forward(loaded);
  Cuda::WeightPart& part = experts.parts.emplace_back(std::move(*loaded));
  part.first = experts.rows;
  part.weights.rows /= experts.count;
  experts.rows += part.weights.rows;
  return {};
}

// The lines sorted by expert, once for all products of a layer.
const cuda::LineGroups& GroupsOf(Cuda::Context& context, const Cuda::Routing& routing, int32_t experts) {
  if (routing.groups.order == nullptr) {
    const int64_t lines = int64_t{routing.rows} * routing.used;
    const int64_t tiles = cuda::LineGroups::MostTiles(lines, experts);
    routing.group_memory =
        cuda_ops::Must(context.arena->Allocate(static_cast<size_t>(lines + 3 * tiles) * sizeof(int32_t)));
    auto* order = static_cast<int32_t*>(routing.group_memory.get());
    cuda_ops::Must(cuda::GroupLines(routing.experts, lines, experts, order, order + lines, static_cast<int32_t>(tiles),
                                    context.stream));
    routing.groups = {.order = order, .tiles = order + lines, .tile_count = static_cast<int32_t>(tiles)};
  }
  return routing.groups;
}

}  // namespace

Result<Cuda::Experts> Cuda::LoadExperts(Context& context, std::span<const std::vector<HostMatrix>> parts) {
  if (parts.empty()) return Fail(ErrorCode::kInvalidArgument, "a mixture of no experts");
  for (const auto& expert : parts) {
    if (auto checked = host::CheckParts(expert); !checked) return Forward(checked);
    if (expert.size() != parts.front().size()) {
      return Fail(ErrorCode::kInvalidArgument, "{}: experts of {} and of {} matrices", expert.front().name,
                  expert.size(), parts.front().size());
    }
  }
  Experts out{.count = static_cast<int32_t>(parts.size()), .parts = {}, .description = {}};
  for (size_t i = 0; i < parts.front().size(); ++i) {
    std::vector<HostMatrix> of_all;
    for (const auto& expert : parts) of_all.push_back(expert[i]);
    for (const HostMatrix& one : of_all) {
      if (one.rows == of_all.front().rows && one.cols == of_all.front().cols) continue;
      return Fail(ErrorCode::kInvalidArgument, "{}: experts of different shapes", one.name);
    }
    if (auto loaded = LoadOfAll(context, of_all, out); !loaded) return Forward(loaded);
  }
  out.description = fmt::format("{} experts, each {} [{}, {}] {}", out.count, host::TypesOf(parts.front()), out.rows,
                                parts.front().front().cols, cuda_ops::DescribeParts(out.parts));
  return out;
}

Cuda::Routing Cuda::Route(Context& context, View logits, const RoutingParams& params, const View* biases) {
  Routing out{.rows = static_cast<int32_t>(logits.rows), .used = params.used, .memory = {}};
  const int64_t lines = logits.rows * params.used;
  if (lines == 0) return out;
  static_assert(sizeof(int32_t) == sizeof(float));
  out.memory = cuda_ops::Must(context.arena->Allocate(static_cast<size_t>(2 * lines) * sizeof(float)));
  auto* experts = static_cast<int32_t*>(out.memory.get());
  auto* weights = static_cast<float*>(out.memory.get()) + lines;
  cuda_ops::Must(cuda::RouteRows(cuda_ops::RowsOf(logits), biases == nullptr ? nullptr : biases->data, params, experts,
                                 weights, context.stream));
  out.experts = experts;
  out.weights = weights;
  return out;
}

Cuda::Buffer Cuda::ExpertMatMul(Context& context, View x, const Experts& experts, const Routing& routing) {
  const int64_t lines = int64_t{routing.rows} * routing.used;
  Buffer out = cuda_ops::New(context, lines, experts.rows);
  if (!out.memory) return out;
  const int32_t lines_per_row = x.rows == lines ? 1 : routing.used;
  // An expert's weights are worth a tile where they are used more than once.
  const bool grouped = routing.rows > cuda_ops::kFewRows && lines >= 2 * int64_t{experts.count};
  cuda_ops::Narrowed<Fp16> halves;
  cuda_ops::Narrowed<Bf16> brain_floats;
  for (const WeightPart& part : experts.parts) {
    const cuda::WeightMatrix& w = part.weights;
    const auto y = cuda_ops::ColumnsOf(out, part.first, w.rows);
    if (!grouped || w.type == formats::TensorType::kF32) {
      cuda_ops::Must(cuda::MultiplyLines(cuda_ops::RowsOf(x), lines_per_row, routing.experts, w, y, context.stream));
      continue;
    }
    cuda::LineGroups groups = GroupsOf(context, routing, experts.count);
    groups.lines_per_row = lines_per_row;
    if (cuda_ops::TakesBf16(w.type)) {
      const auto elements = brain_floats.Of(context, x);
      cuda_ops::Must(cuda::MultiplyGroups(elements, brain_floats.scales(), groups, w, y, context.stream));
    } else {
      const auto elements = halves.Of(context, x);
      cuda_ops::Must(cuda::MultiplyGroups(elements, halves.scales(), groups, w, y, context.stream));
    }
  }
  return out;
}

Cuda::Buffer Cuda::AddExpertBias(Context& context, View x, View biases, const Routing& routing) {
  return cuda_ops::OfShape(context, x, [&](auto from, auto to) {
    return cuda::AddExpertBias(from, routing.experts, biases.data, to, context.stream);
  });
}

Cuda::Buffer Cuda::ScaleExpertColumns(Context& context, View x, View scales, const Routing& routing) {
  return cuda_ops::OfShape(context, x, [&](auto from, auto to) {
    return cuda::ScaleExpertColumns(from, routing.experts, scales.data, to, context.stream);
  });
}

Cuda::Buffer Cuda::Combine(Context& context, View x, const Routing& routing) {
  Buffer out = cuda_ops::New(context, routing.rows, x.cols);
  if (!out.memory) return out;
  cuda_ops::Must(
      cuda::CombineLines(cuda_ops::RowsOf(x), routing.used, routing.weights, cuda_ops::RowsOf(out), context.stream));
  return out;
}

Cuda::Buffer Cuda::GateRows(Context& context, View x, View logits) {
  return cuda_ops::OfShape(context, x, [&](auto from, auto to) {
    return cuda::GateRows(from, logits.data, logits.stride, to, context.stream);
  });
}

}  // namespace inferflux::compute
