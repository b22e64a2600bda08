// The CPU backend with a timer around each operation. It runs the same kernels; only the time between them grows.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "apps/inferflux_bench/profile.h"
#include "compute/cpu/cpu_backend.h"

namespace inferflux::apps {

struct ProfiledCpu : compute::Cpu {
  struct Context : compute::Cpu::Context {
    Context(ThreadPool& pool, CpuIsa isa, Profile& record) : compute::Cpu::Context(pool, isa), profile(record) {}
    Profile& profile;
  };

  static Buffer Embed(Context& context, const Table& table, const Batch& batch) {
    const ProfileTimer timer(context.profile, "embed");
    return Cpu::Embed(context, table, batch);
  }
  static Buffer GatherRows(Context& context, View x, std::span<const int32_t> rows) {
    const ProfileTimer timer(context.profile, "gather rows");
    return Cpu::GatherRows(context, x, rows);
  }
  static Buffer Add(Context& context, View a, View b) {
    const ProfileTimer timer(context.profile, "add");
    return Cpu::Add(context, a, b);
  }
  static Buffer AddBias(Context& context, View x, View bias) {
    const ProfileTimer timer(context.profile, "add bias");
    return Cpu::AddBias(context, x, bias);
  }
  static Buffer ScaleColumns(Context& context, View x, View factors) {
    const ProfileTimer timer(context.profile, "scale columns");
    return Cpu::ScaleColumns(context, x, factors);
  }
  static Buffer GatherColumns(Context& context, View x, std::span<const int32_t> columns) {
    const ProfileTimer timer(context.profile, "gather columns");
    return Cpu::GatherColumns(context, x, columns);
  }
  static Buffer RmsNorm(Context& context, View x, View weight, float epsilon) {
    const ProfileTimer timer(context.profile, "rms norm");
    return Cpu::RmsNorm(context, x, weight, epsilon);
  }
  static Buffer LayerNorm(Context& context, View x, View weight, View bias, float epsilon) {
    const ProfileTimer timer(context.profile, "layer norm");
    return Cpu::LayerNorm(context, x, weight, bias, epsilon);
  }
  static Buffer MatMul(Context& context, View x, const Matrix& matrix) {
    OperationWork work{.bytes = static_cast<double>(matrix.bytes())};
    for (const auto& part : matrix.parts) {
      const double operations =
          2.0 * static_cast<double>(x.rows) * static_cast<double>(part.outputs) * static_cast<double>(matrix.cols);
      OperationsOf(work, part.format) += operations;
    }
    const ProfileTimer timer(context.profile, matrix.description, work);
    return Cpu::MatMul(context, x, matrix);
  }
  static double& OperationsOf(OperationWork& work, compute::cpu::PanelFormat format) {
    if (compute::cpu::IsInt8(format)) return work.int8_operations;
    return format == compute::cpu::FormatOf<compute::cpu::DenseBf16>() ? work.bf16_operations : work.float_operations;
  }
  static Buffer Gate(Context& context, View gate, View up, compute::Activation activation) {
    const ProfileTimer timer(context.profile, "gate");
    return Cpu::Gate(context, gate, up, activation);
  }
  static Buffer Activate(Context& context, View x, compute::Activation activation) {
    const ProfileTimer timer(context.profile, "activate");
    return Cpu::Activate(context, x, activation);
  }
  static Buffer RopeAngles(Context& context, const Batch& batch, const compute::RopeSpec& spec) {
    const ProfileTimer timer(context.profile, "rope angles");
    return Cpu::RopeAngles(context, batch, spec);
  }
  static Buffer Rope(Context& context, View x, View angles, const compute::RopeParams& params) {
    const ProfileTimer timer(context.profile, "rope");
    return Cpu::Rope(context, x, angles, params);
  }
  static Buffer ExpertMatMul(Context& context, View x, const Experts& experts, const Routing& routing) {
    const ProfileTimer timer(context.profile, "experts");
    return Cpu::ExpertMatMul(context, x, experts, routing);
  }
  static std::vector<float> Read(Context& context, View x) {
    const ProfileTimer timer(context.profile, "read logits");
    return Cpu::Read(context, x);
  }

  template <class E>
  static void Append(Context& context, KvCache<E>& cache, int32_t layer, View k, View v, const Batch& batch) {
    const ProfileTimer timer(context.profile, "append kv");
    Cpu::Append<E>(context, cache, layer, k, v, batch);
  }
  template <class E>
  static Buffer Attend(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                       const compute::AttentionParams& params) {
    return AttendWithSinks<E>(context, q, cache, layer, batch, params, View{});
  }
  template <class E>
  static Buffer AttendWithSinks(Context& context, View q, const KvCache<E>& cache, int32_t layer, const Batch& batch,
                                const compute::AttentionParams& params, View sinks) {
    const ProfileTimer timer(context.profile, "attend",
                             AttentionWork(batch, params, compute::KvHeadBytes<E>(params.head_dim)));
    return Cpu::AttendWithSinks<E>(context, q, cache, layer, batch, params, sinks);
  }

  static OperationWork AttentionWork(const Batch& batch, const compute::AttentionParams& params, int64_t head_bytes) {
    OperationWork work;
    for (int32_t s = 0; s < batch.sequences(); ++s) {
      int64_t seen = 0;
      for (int32_t r = batch.query_starts[s]; r < batch.query_starts[s + 1]; ++r) {
        seen = batch.positions[r] + 1;
        if (params.window > 0) seen = std::min<int64_t>(seen, params.window);
        work.float_operations += 4.0 * params.heads * params.head_dim * static_cast<double>(seen);
      }
      work.bytes += 2.0 * params.kv_heads * static_cast<double>(head_bytes * seen);
    }
    return work;
  }
};

}  // namespace inferflux::apps
