// Recurrent states in device memory, and the operations that read and store them.
#include "compute/cuda/kernels/recurrent/recurrent.h"
#include "compute/cuda/backend/operation.h"

namespace inferflux::compute {
namespace {

cuda::StatePart PartOf(const Cuda::States& states, int32_t layer) {
  const Cuda::States::Part& part = states.parts[static_cast<size_t>(layer)];
  return {part.values.as<float>(), part.size};
}

}  // namespace

Result<Cuda::States> Cuda::CreateStates(Context& context, const StateShape& shape) {
  const int64_t bytes = StateBytes(shape.layers);
  if (bytes < 0 || shape.slots < 1 || bytes > (int64_t{1} << 50) / shape.slots) {
    return Fail(ErrorCode::kInvalidArgument, "{} recurrent states of {} bytes each", shape.slots, bytes);
  }
  States out{.context = &context, .parts = {}};
  for (const int64_t size : shape.layers) {
    const size_t part_bytes = static_cast<size_t>(size) * static_cast<size_t>(shape.slots) * sizeof(float);
    auto memory = cuda::DeviceBytes::Allocate(*context.runtime, part_bytes);
    if (!memory) {
      return Forward(memory, fmt::format("{} recurrent states of {} bytes each", shape.slots, bytes));
    }
    if (part_bytes > 0) {
      auto filled = context.runtime->Fill(memory->data(), 0, part_bytes, context.stream);
      if (!filled) return Forward(filled);
    }
    out.parts.push_back({size, std::move(*memory)});
  }
  return out;
}

void Cuda::VisitState(States& states, int32_t slot, FunctionRef<void(std::span<std::byte>)> visit) {
  Context& context = *states.context;
  std::vector<std::byte> before, values;
  for (const States::Part& part : states.parts) {
    if (part.size == 0) continue;
    float* at = part.values.as<float>() + slot * part.size;
    before.resize(static_cast<size_t>(part.size) * sizeof(float));
    cuda_ops::Must(context.runtime->CopyToHost(before.data(), at, before.size(), context.stream));
    cuda_ops::Must(context.runtime->Synchronize(context.stream));
    values = before;
    visit(values);
    if (values != before) cuda_ops::Must(context.staging->Copy(at, values));
  }
}

Cuda::Buffer Cuda::Multiply(Context& context, View a, View b) {
  return cuda_ops::OfShape(
      context, a, [&](auto from, auto to) { return cuda::Multiply(from, cuda_ops::RowsOf(b), to, context.stream); });
}

Cuda::Buffer Cuda::ShortConv(Context& context, View x, View taps, States& states, int32_t layer, const Batch& batch) {
  return cuda_ops::OfShape(context, x, [&](auto from, auto to) {
    return cuda::ShortConv(from, taps.data, taps.cols / x.cols, PartOf(states, layer), batch.states, to.data,
                           context.stream);
  });
}

Cuda::Buffer Cuda::GatedDelta(Context& context, View qkv, View b, View a, View steps, View coefficients, States& states,
                              int32_t layer, const Batch& batch, const DeltaNetParams& params) {
  Buffer out = cuda_ops::New(context, qkv.rows, params.values());
  if (!out.memory) return out;
  cuda_ops::Must(cuda::GatedDelta({.qkv = cuda_ops::RowsOf(qkv),
                                   .b = cuda_ops::RowsOf(b),
                                   .a = cuda_ops::RowsOf(a),
                                   .steps = steps.data,
                                   .coefficients = coefficients.data,
                                   .params = params,
                                   .state = PartOf(states, layer),
                                   .step = batch.states,
                                   .y = out.data()},
                                  context.stream));
  return out;
}

Cuda::Buffer Cuda::SelectiveScan(Context& context, View xbc, View dt, View steps, View coefficients, View skips,
                                 States& states, int32_t layer, const Batch& batch, const StateSpaceParams& params) {
  Buffer out = cuda_ops::New(context, xbc.rows, params.inner());
  if (!out.memory) return out;
  cuda_ops::Must(cuda::SelectiveScan({.xbc = cuda_ops::RowsOf(xbc),
                                      .dt = cuda_ops::RowsOf(dt),
                                      .steps = steps.data,
                                      .coefficients = coefficients.data,
                                      .skips = skips.data,
                                      .params = params,
                                      .state = PartOf(states, layer),
                                      .step = batch.states,
                                      .y = out.data()},
                                     context.stream));
  return out;
}

}  // namespace inferflux::compute
