// Recurrent layers on the CUDA backend, compared with the reference: outputs and all stored states, over steps of
// several sequences whose slots are shared, replaced and marked.
#include "compute/cuda/backend/cuda_test.h"

namespace inferflux::compute::testing {
namespace {

// Two steps of three sequences. The second one goes on from a slot that is stored to again, from one that is kept, and
// from a mark of the first one.
std::vector<StepGeometry> Steps() {
  StepGeometry first{.positions = {0, 1, 2, 3, 4, 0, 0, 1},
                     .query_starts = {0, 5, 6, 8},
                     .states = {{StateSlots::kNoState, 0}, {StateSlots::kNoState, 1}, {StateSlots::kNoState, 2}},
                     .state_marks = {{1, 4}, {3, 5}, {6, 6}}};
  StepGeometry second{.positions = {5, 1, 2, 3, 2, 3},
                      .query_starts = {0, 1, 4, 6},
                      .states = {{0, 0}, {1, 3}, {4, 5}},
                      .state_marks = {{2, 7}}};
  for (StepGeometry* step : {&first, &second}) step->tokens.assign(step->positions.size(), 0);
  return {first, second};
}
constexpr int32_t kSlots = 8;

class CudaRecurrent : public CudaTest {
 protected:
  // Runs both steps on both backends. `run(backend tag, context, inputs)` yields a step's output.
  template <class Run>
  void ExpectSame(int64_t size, int64_t input_width, const Run& run) {
    const StateShape shape{.layers = {0, size}, .slots = kSlots};
    auto ours = *Cuda::CreateStates(context, shape);
    auto theirs = *Reference::CreateStates(reference, shape);
    for (const StepGeometry& step : Steps()) {
      const auto x = Random(step.rows(), input_width);
      const auto expected = run(Reference{}, reference, theirs, Reference::LoadBatch(reference, step), host::View(x));
      const Cuda::Buffer on_device = On(x);
      const auto actual = run(Cuda{}, context, ours, Cuda::LoadBatch(context, step), Cuda::View(on_device));
      EXPECT_LT(Error(actual, expected), 2e-6);
      for (int32_t slot = 0; slot < kSlots; ++slot) ExpectSameState(ours, theirs, slot);
    }
  }

  static std::vector<float> Floats(std::span<const std::byte> part) {
    std::vector<float> out(part.size() / sizeof(float));
    std::memcpy(out.data(), part.data(), part.size());
    return out;
  }

  static void ExpectSameState(Cuda::States& ours, Reference::States& theirs, int32_t slot) {
    std::vector<float> actual, expected;
    Cuda::VisitState(ours, slot, [&](std::span<std::byte> part) { actual = Floats(part); });
    Reference::VisitState(theirs, slot, [&](std::span<std::byte> part) { expected = Floats(part); });
    ASSERT_EQ(actual.size(), expected.size());
    const auto width = static_cast<int64_t>(actual.size());
    EXPECT_LT(RelativeError({actual.data(), 1, width, width}, {expected.data(), 1, width, width}), 2e-6)
        << "slot " << slot;
  }
};

TEST_F(CudaRecurrent, ShortConvolutionsReachBackIntoTheState) {
  for (const int64_t taps : {1, 2, 4}) {
    for (const int64_t width : {3, 200}) {
      const auto weights = Random(1, taps * width);
      const Cuda::Buffer on_device = On(weights);
      ExpectSame((taps - 1) * width, width, [&]<class B>(B, auto& at, auto& states, const auto& batch, auto x) {
        if constexpr (std::is_same_v<B, Cuda>)
          return B::ShortConv(at, x, on_device, states, 1, batch);
        else
          return B::ShortConv(at, x, weights, states, 1, batch);
      });
    }
  }
}

TEST_F(CudaRecurrent, TheGatedDeltaRuleKeepsEachSequencesState) {
  for (const bool repeat : {false, true}) {
    for (const int32_t value_dim : {24, 80}) {
      const DeltaNetParams params{
          .key_heads = 2, .value_heads = 4, .key_dim = 40, .value_dim = value_dim, .keys_repeat = repeat};
      const int64_t width = 2 * params.keys() + params.values();
      const auto steps = Random(1, 4);
      auto coefficients = Random(1, 4);
      for (int h = 0; h < 4; ++h) coefficients.row(0)[h] = -std::abs(coefficients.row(0)[h]);
      const Cuda::Buffer our_steps = On(steps), our_coefficients = On(coefficients);
      ExpectSame(
          int64_t{4} * 40 * value_dim, width + 8, [&]<class B>(B, auto& at, auto& states, const auto& batch, auto x) {
            const auto qkv = B::Columns(x, 0, width), b = B::Columns(x, width, 4), a = B::Columns(x, width + 4, 4);
            if constexpr (std::is_same_v<B, Cuda>) {
              return B::GatedDelta(at, qkv, b, a, our_steps, our_coefficients, states, 1, batch, params);
            } else {
              return B::GatedDelta(at, qkv, b, a, steps, coefficients, states, 1, batch, params);
            }
          });
    }
  }
}

TEST_F(CudaRecurrent, TheSelectiveScanKeepsEachSequencesState) {
  for (const int32_t head_dim : {7, 96}) {
    const StateSpaceParams params{.heads = 4, .head_dim = head_dim, .groups = 2, .state = 19};
    const auto steps = Random(1, 4), skips = Random(1, 4);
    auto coefficients = Random(1, 4);
    for (int h = 0; h < 4; ++h) coefficients.row(0)[h] = -std::abs(coefficients.row(0)[h]);
    const Cuda::Buffer our_steps = On(steps), our_skips = On(skips), our_coefficients = On(coefficients);
    ExpectSame(params.inner() * params.state, params.width() + 4,
               [&]<class B>(B, auto& at, auto& states, const auto& batch, auto x) {
                 const auto xbc = B::Columns(x, 0, params.width()), dt = B::Columns(x, params.width(), 4);
                 if constexpr (std::is_same_v<B, Cuda>) {
                   return B::SelectiveScan(at, xbc, dt, our_steps, our_coefficients, our_skips, states, 1, batch,
                                           params);
                 } else {
                   return B::SelectiveScan(at, xbc, dt, steps, coefficients, skips, states, 1, batch, params);
                 }
               });
  }
}

TEST_F(CudaRecurrent, AStateThatTheHostChangesIsTheNextSteps) {
  auto states = *Cuda::CreateStates(context, {.layers = {5, 0, 3}, .slots = 3});
  int parts = 0;
  Cuda::VisitState(states, 2, [&](std::span<std::byte> part) {
    ++parts;
    std::memset(part.data(), 7, part.size());
  });
  EXPECT_EQ(parts, 2);
  Cuda::VisitState(states, 2, [&](std::span<std::byte> part) { EXPECT_EQ(part[4], std::byte{7}); });
  Cuda::VisitState(states, 1, [&](std::span<std::byte> part) { EXPECT_EQ(part[4], std::byte{0}); });
  const auto huge = Cuda::CreateStates(context, {.layers = {int64_t{1} << 40}, .slots = 4});
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().message.find("4 recurrent states of 4398046511104 bytes each"), std::string::npos)
      << huge.error().message;
  EXPECT_EQ(Cuda::CreateStates(context, {.layers = {-1}, .slots = 4}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(CudaRecurrent, Multiplies) {
  const auto a = Random(3, 70), b = Random(3, 70);
  EXPECT_LT(Error(Cuda::Multiply(context, On(a), On(b)), Reference::Multiply(reference, a, b)), 1e-7);
}

}  // namespace
}  // namespace inferflux::compute::testing
