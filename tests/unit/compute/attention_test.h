// Attention over a backend's KV, compared with the reference: any mix of prefill and decode, blocks in any order.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "compute/paged_sequences.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute::testing {

struct AttentionShape {
  int32_t heads, kv_heads, head_dim, block_size;
  int32_t window = 0;
  float softcap = 0.0f;
  bool sinks = false;
  bool chunked = false;
};

// `Test` is a fixture with `context`, of backend B, and `reference`: CudaTest, MlxTest.
template <class B, class Test>
class AttentionTest : public Test {
 protected:
  using Test::context, Test::random, Test::reference;

  // Feeds sequences of these lengths in two steps, cut at `cuts`, through both backends, and compares the second step's
  // outputs. Blocks are shuffled, or contiguous.
  template <class E>
  void EqualsReference(const AttentionShape& shape, const std::vector<int32_t>& lengths,
                       const std::vector<int32_t>& cuts, bool shuffled, double bound) {
    PagedSequences sequences(lengths, shape.block_size, shuffled, random);
    const KvShape kv{std::vector<KvGeometry>(2, {shape.kv_heads, shape.head_dim}), sequences.blocks(),
                     shape.block_size};
    auto theirs = *Reference::CreateKvCache<E>(reference, kv);
    auto ours = *B::template CreateKvCache<E>(context, kv);
    const AttentionParams params{.heads = shape.heads,
                                 .kv_heads = shape.kv_heads,
                                 .head_dim = shape.head_dim,
                                 .scale = 0.2f,
                                 .window = shape.window,
                                 .softcap = shape.softcap,
                                 .chunked = shape.chunked};
    const auto sinks = this->Random(1, shape.heads);
    for (const auto& ends : {cuts, lengths}) {
      const StepGeometry step = sequences.StepTo(ends);
      const auto q = this->Random(step.rows(), shape.heads * shape.head_dim);
      const auto k = this->Random(step.rows(), shape.kv_heads * shape.head_dim);
      const auto v = this->Random(step.rows(), shape.kv_heads * shape.head_dim);
      const typename B::Batch batch = B::LoadBatch(context, step);
      Reference::Append<E>(reference, theirs, 1, k, v, step);
      B::template Append<E>(context, ours, 1, this->On(k), this->On(v), batch);
      const auto want = shape.sinks ? Reference::AttendWithSinks<E>(reference, q, theirs, 1, step, params, sinks)
                                    : Reference::Attend<E>(reference, q, theirs, 1, step, params);
      const auto have =
          shape.sinks ? B::template AttendWithSinks<E>(context, this->On(q), ours, 1, batch, params, this->On(sinks))
                      : B::template Attend<E>(context, this->On(q), ours, 1, batch, params);
      EXPECT_LT(this->Error(have, want), bound)
          << E::kName << ", " << shape.heads << "/" << shape.kv_heads << " heads of " << shape.head_dim;
    }
  }
};

}  // namespace inferflux::compute::testing
