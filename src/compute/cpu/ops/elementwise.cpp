#include "compute/cpu/ops/row_ops.h"
#include "compute/host/copies.h"

namespace inferflux::compute {

host::Buffer Cpu::Scale(Context& context, View x, float factor) {
  return cpu::MapRows(context, x, [&](int64_t r, float* out) { context.kernels.scale(x.row(r), factor, out, x.cols); });
}

host::Buffer Cpu::Add(Context& context, View a, View b) {
  return cpu::MapRows(context, a, [&](int64_t r, float* out) { context.kernels.add(a.row(r), b.row(r), out, a.cols); });
}

host::Buffer Cpu::AddBias(Context& context, View x, View bias) {
  return cpu::MapRows(context, x,
                      [&](int64_t r, float* out) { context.kernels.add(x.row(r), bias.data, out, x.cols); });
}

host::Buffer Cpu::ScaleColumns(Context& context, View x, View scales) {
  return cpu::MapRows(context, x, [&](int64_t r, float* out) {
    for (int64_t c = 0; c < x.cols; ++c) out[c] = x.row(r)[c] * scales.data[c];
  });
}

host::Buffer Cpu::GatherColumns(Context& context, View x, std::span<const int32_t> columns) {
  const auto count = static_cast<int64_t>(columns.size());
  host::Buffer out = context.arena.Allocate(x.rows, count);
  cpu::ForRows(context, x.rows, count, [&](int64_t r) {
    const float* from = x.row(r);
    float* to = out.row(r);
    for (const int32_t column : columns) *to++ = from[column];
  });
  return out;
}

host::Buffer Cpu::Gate(Context& context, View gate, View up, Activation activation) {
  const auto kernel = context.kernels.gate[static_cast<int>(activation)];
  return cpu::MapRows(context, gate, [&](int64_t r, float* out) { kernel(gate.row(r), up.row(r), out, gate.cols); });
}

host::Buffer Cpu::RmsNorm(Context& context, View x, View weight, float epsilon) {
  return cpu::MapRows(context, x, [&](int64_t r, float* out) {
    for (int64_t first = 0; first < x.cols; first += weight.cols) {
      context.kernels.rms_norm(x.row(r) + first, weight.data, epsilon, out + first, weight.cols);
    }
  });
}

host::Buffer Cpu::LayerNorm(Context& context, View x, View weight, View bias, float epsilon) {
  return cpu::MapRows(context, x, [&](int64_t r, float* out) {
    context.kernels.layer_norm(x.row(r), weight.data, bias.data, epsilon, out, x.cols);
  });
}

host::Buffer Cpu::Activate(Context& context, View x, Activation activation) {
  const auto kernel = context.kernels.activate[static_cast<int>(activation)];
  return cpu::MapRows(context, x, [&](int64_t r, float* out) { kernel(x.row(r), out, x.cols); });
}

host::Buffer Cpu::SoftCap(Context& context, View x, float cap) {
  return cpu::MapRows(context, x, [&](int64_t r, float* out) { context.kernels.soft_cap(x.row(r), cap, out, x.cols); });
}

host::Buffer Cpu::GatherRows(Context& context, View x, std::span<const int32_t> rows) {
  return host::GatherRows(context.arena, x, rows);
}

std::vector<float> Cpu::Read(Context&, View x) { return host::Read(x); }

}  // namespace inferflux::compute
