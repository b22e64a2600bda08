// Attention over a backend's latents, the selection of positions and the products of heads, beside the reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compute/latent_kv.h"
#include "compute/paged_sequences.h"
#include "compute/random_data.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute::testing {

struct LatentShape {
  int32_t heads, latent, rotated, block_size;
  int32_t index_heads = 5, index = 14, top = 0;  // top 0: no tokens are selected

  int32_t width() const { return latent + rotated; }
  KvShape Kv(int32_t blocks) const {
    const KvGeometry layer{.heads = 1, .head_dim = width(), .latent = latent, .index = top > 0 ? index : 0};
    return {std::vector<KvGeometry>(2, layer), blocks, block_size};
  }
  AttentionParams Attention() const { return {.heads = heads, .kv_heads = 1, .head_dim = width(), .scale = 0.2f}; }
  IndexParams Index() const { return {index_heads, index, top}; }
};

// `Test` is a fixture with `context`, of backend B, and `reference`, and with Positions(selection, step): the positions
// that each row of a step reads, with later ones than its own where it sees fewer than it may select.
template <class B, class Test>
class LatentsTest : public Test {
 protected:
  using Test::context, Test::random, Test::reference;

  // Feeds sequences of these lengths in two steps, cut at `cuts`, through both backends, and compares each step's
  // outputs.
  template <class E>
  void EqualsReference(const LatentShape& shape, const std::vector<int32_t>& lengths, const std::vector<int32_t>& cuts,
                       bool shuffled, double bound) {
    SCOPED_TRACE(E::kName);
    PagedSequences sequences(lengths, shape.block_size, shuffled, random);
    const KvShape kv = shape.Kv(sequences.blocks());
    auto theirs = *Reference::CreateKvCache<E>(reference, kv);
    auto ours = *B::template CreateKvCache<E>(context, kv);
    const AttentionParams params = shape.Attention();
    for (const auto& ends : {cuts, lengths}) {
      const StepGeometry step = sequences.StepTo(ends);
      const int32_t rows = step.rows();
      const typename B::Batch batch = B::LoadBatch(context, step);
      const auto latents = this->Random(rows, shape.latent), keys = this->Random(rows, shape.rotated);
      Reference::AppendLatents<E>(reference, theirs, 1, latents, keys, step);
      B::template AppendLatents<E>(context, ours, 1, this->On(latents), this->On(keys), batch);
      const auto q = this->Random(rows, shape.heads * shape.latent);
      const auto rotated = this->Random(rows, shape.heads * shape.rotated);
      EXPECT_LT(this->Error(B::template AttendLatents<E>(context, this->On(q), this->On(rotated), ours, 1, batch,
                                                         params, nullptr),
                            Reference::AttendLatents<E>(reference, q, rotated, theirs, 1, step, params, nullptr)),
                bound);
      if (shape.top == 0) continue;
      const auto index = this->Random(rows, shape.index);
      Reference::AppendIndex<E>(reference, theirs, 1, index, step);
      B::template AppendIndex<E>(context, ours, 1, this->On(index), batch);
      const auto index_q = this->Random(rows, shape.index_heads * shape.index);
      const auto weights = this->Random(rows, shape.index_heads);
      const auto selected =
          B::template SelectPositions<E>(context, this->On(index_q), this->On(weights), ours, 1, batch, shape.Index());
      const host::Selection read = Seen(this->Positions(selected, step), step, shape.top);
      const auto wanted = Reference::SelectPositions<E>(reference, index_q, weights, theirs, 1, step, shape.Index());
      int32_t others = 0;
      for (size_t r = 0; r < wanted.rows.size(); ++r) others += read.rows[r] == wanted.rows[r] ? 0 : 1;
      EXPECT_LE(others, 1) << "sums of floats differ from those of doubles in few rows";
      EXPECT_LT(this->Error(B::template AttendLatents<E>(context, this->On(q), this->On(rotated), ours, 1, batch,
                                                         params, &selected),
                            Reference::AttendLatents<E>(reference, q, rotated, theirs, 1, step, params, &read)),
                bound);
    }
  }

  // The last rows of a sequence of this length, in a step with a short one.
  template <class E>
  void ALongContextEqualsReference(const LatentShape& shape, int32_t length, double bound) {
    SCOPED_TRACE(E::kName);
    PagedSequences sequences({length, 5}, shape.block_size, true, random);
    const KvShape kv = shape.Kv(sequences.blocks());
    auto theirs = *Reference::CreateKvCache<E>(reference, kv);
    auto ours = *B::template CreateKvCache<E>(context, kv);
    for (const std::vector<int32_t>& ends : {std::vector{length - 2, 3}, std::vector{length, 5}}) {
      const StepGeometry step = sequences.StepTo(ends);
      const auto latents = this->Random(step.rows(), shape.latent), keys = this->Random(step.rows(), shape.rotated);
      const typename B::Batch batch = B::LoadBatch(context, step);
      Reference::AppendLatents<E>(reference, theirs, 1, latents, keys, step);
      B::template AppendLatents<E>(context, ours, 1, this->On(latents), this->On(keys), batch);
      if (step.rows() > 4) continue;
      const auto q = this->Random(4, shape.heads * shape.latent),
                 rotated = this->Random(4, shape.heads * shape.rotated);
      EXPECT_LT(
          this->Error(B::template AttendLatents<E>(context, this->On(q), this->On(rotated), ours, 1, batch,
                                                   shape.Attention(), nullptr),
                      Reference::AttendLatents<E>(reference, q, rotated, theirs, 1, step, shape.Attention(), nullptr)),
          bound);
    }
  }

  // Scores with few values, which have no rounding: the positions are the reference's.
  void TiesGoToTheLowerPosition(const LatentShape& shape, const std::vector<int32_t>& lengths) {
    PagedSequences sequences(lengths, shape.block_size, true, random);
    const StepGeometry step = sequences.StepTo(lengths);
    const KvShape kv = shape.Kv(sequences.blocks());
    auto theirs = *Reference::CreateKvCache<KvFp32>(reference, kv);
    auto ours = *B::template CreateKvCache<KvFp32>(context, kv);
    const auto whole = [&](int32_t cols) {
      auto out = this->Random(step.rows(), cols);
      for (int64_t r = 0; r < out.rows(); ++r) std::for_each_n(out.row(r), cols, [](float& x) { x = std::rint(x); });
      return out;
    };
    const auto index = whole(shape.index), q = whole(shape.index_heads * shape.index);
    auto weights = whole(shape.index_heads);
    std::fill_n(weights.row(weights.rows() - 1), shape.index_heads, 0.0f);
    std::fill_n(weights.row(weights.rows() - 2), shape.index_heads, std::nanf(""));
    std::fill_n(weights.row(weights.rows() - 3), shape.index_heads, -1.0f);
    const typename B::Batch batch = B::LoadBatch(context, step);
    Reference::AppendIndex<KvFp32>(reference, theirs, 0, index, step);
    B::template AppendIndex<KvFp32>(context, ours, 0, this->On(index), batch);
    const auto selected =
        B::template SelectPositions<KvFp32>(context, this->On(q), this->On(weights), ours, 0, batch, shape.Index());
    const auto wanted = Reference::SelectPositions<KvFp32>(reference, q, weights, theirs, 0, step, shape.Index());
    EXPECT_EQ(Seen(this->Positions(selected, step), step, shape.top).rows, wanted.rows);
  }

  // `parts` matrices for each head, which are stacked.
  void EachHeadHasItsOwnMatrix(formats::TensorType type, int32_t heads, int32_t parts, int64_t outputs, int64_t inputs,
                               const std::vector<int32_t>& rows, double bound) {
    SCOPED_TRACE(formats::TensorTypeName(type));
    std::vector<OwnedMatrix> owned;
    for (int32_t i = 0; i < heads * parts; ++i) owned.push_back(RandomMatrix(type, random, outputs, inputs));
    std::vector<std::vector<HostMatrix>> matrices(static_cast<size_t>(heads));
    for (size_t i = 0; i < owned.size(); ++i) {
      matrices[i / static_cast<size_t>(parts)].push_back(owned[i].matrix);
    }
    const auto ours = B::LoadExperts(context, matrices);
    const auto theirs = Reference::LoadExperts(reference, matrices);
    ASSERT_TRUE(ours && theirs);
    for (const int32_t count : rows) {
      const auto x = this->Random(count, heads * inputs + 3);
      const host::View part = host::Columns(x, 1, heads * inputs);
      const auto on_device = this->On(x);
      EXPECT_LT(this->Error(B::HeadMatMul(context, B::Columns(on_device, 1, heads * inputs), *ours),
                            Reference::HeadMatMul(reference, part, *theirs)),
                bound)
          << count << " rows";
    }
  }

 private:
  // The positions up to each row's own, ascending.
  static host::Selection Seen(const std::vector<std::vector<int32_t>>& positions, const StepGeometry& step,
                              int32_t top) {
    host::Selection out;
    for (size_t r = 0; r < positions.size(); ++r) {
      auto& row = out.rows.emplace_back();
      for (const int32_t p : positions[r]) {
        if (p <= step.positions[r]) row.push_back(p);
      }
      std::ranges::sort(row);
      EXPECT_EQ(std::ssize(row), std::min(top, step.positions[r] + 1)) << "row " << r;
    }
    return out;
  }
};

}  // namespace inferflux::compute::testing
