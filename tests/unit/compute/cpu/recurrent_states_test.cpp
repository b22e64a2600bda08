// Recurrent operations over a step of several sequences, whose states are marked at first, inner and last rows: the
// outputs and the states are those of the same rows one by one.
#include <functional>
#include <map>
#include <vector>

#include "compute/cpu/cpu_test.h"

namespace inferflux::compute::testing {
namespace {

class CpuRecurrentStatesTest : public CpuTest {
 protected:
  using Run = std::function<host::Buffer(host::View x, host::States& states, const StepGeometry& batch)>;

  // The sequences have the rows 0 to 2, 3, and 4 to 6. The second goes on from a state, which is only read.
  void ExpectRowsOneByOne(int64_t state_size, int64_t width, const Run& run) {
    constexpr int32_t kStored = 8, kSlots = 11, kRows = 7;
    const StepGeometry step{.query_starts = {0, 3, 4, 7},
                            .states = {{.to = 0}, {.from = kStored, .to = 1}, {.to = 2}},
                            .state_marks = {{0, 3}, {2, 4}, {3, 5}, {4, 6}, {6, 7}}};
    host::Buffer x = Random(kRows, width), stored = Random(1, state_size);
    const host::View all = x;
    auto states = *host::CreateStates({.layers = {0, state_size}, .slots = kSlots});
    auto chain = *host::CreateStates({.layers = {0, state_size}, .slots = kSlots});
    for (host::States* each : {&states, &chain}) {
      std::copy_n(stored.row(0), state_size, each->Part(1, kStored).begin());
    }
    const host::Buffer at_once = run(all, states, step);
    std::map<int32_t, std::vector<float>> after;  // the state after each row
    for (size_t s = 0; s < 3; ++s) {
      int32_t from = step.states[s].from;
      for (int32_t row = step.query_starts[s]; row < step.query_starts[s + 1]; ++row) {
        const int32_t to = row % 2 == 0 ? 9 : 10;
        const host::Buffer one = run(host::View{all.row(row), 1, all.cols, all.stride}, chain,
                                     {.query_starts = {0, 1}, .states = {{.from = from, .to = to}}});
        from = to;
        const auto part = chain.Part(1, to);
        after[row].assign(part.begin(), part.end());
        for (int64_t c = 0; c < host::View(one).cols; ++c) {
          ASSERT_EQ(host::View(at_once).row(row)[c], host::View(one).row(0)[c]) << "row " << row << ", column " << c;
        }
      }
    }
    const std::map<int32_t, int32_t> row_of_slot = {{0, 2}, {1, 3}, {2, 6}, {3, 0}, {4, 2}, {5, 3}, {6, 4}, {7, 6}};
    for (const auto& [slot, row] : row_of_slot) {
      const auto part = states.Part(1, slot);
      EXPECT_EQ(std::vector<float>(part.begin(), part.end()), after[row]) << "slot " << slot << ", after row " << row;
    }
    const auto kept = states.Part(1, kStored);
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), stored.row(0)));
    for (const int32_t slot : {9, 10}) {
      for (const float value : states.Part(1, slot)) EXPECT_EQ(value, 0.0f) << "no sequence has slot " << slot;
    }
  }

  static host::View Columns(host::View x, int64_t first, int64_t count) {
    return {x.data + first, x.rows, count, x.stride};
  }
  host::Buffer Negative(int64_t cols) {
    host::Buffer out = Random(1, cols);
    for (int64_t c = 0; c < cols; ++c) out.row(0)[c] = -std::abs(out.row(0)[c]);
    return out;
  }
};

TEST_P(CpuRecurrentStatesTest, OfAShortConvolution) {
  for (const int32_t taps : {2, 3, 5}) {
    const host::Buffer weights = Random(1, int64_t{taps} * 37);
    const int64_t size = int64_t{taps - 1} * 37;
    ExpectRowsOneByOne(size, 37, [&](host::View x, host::States& states, const StepGeometry& batch) {
      return Cpu::ShortConv(cpu, x, weights, states, 1, batch);
    });
    ExpectRowsOneByOne(size, 37, [&](host::View x, host::States& states, const StepGeometry& batch) {
      return Reference::ShortConv(reference, x, weights, states, 1, batch);
    });
  }
}

TEST_P(CpuRecurrentStatesTest, OfTheGatedDeltaRule) {
  for (const bool repeat : {false, true}) {
    const DeltaNetParams params{.key_heads = 2, .value_heads = 4, .key_dim = 20, .value_dim = 9, .keys_repeat = repeat};
    const int64_t width = 2 * params.keys() + params.values();
    const host::Buffer steps = Random(1, 4), coefficients = Negative(4);
    const auto run = [&](auto& context, host::View x, host::States& states, const StepGeometry& batch) {
      using B = std::conditional_t<std::is_same_v<std::decay_t<decltype(context)>, Cpu::Context>, Cpu, Reference>;
      return B::GatedDelta(context, Columns(x, 0, width), Columns(x, width, 4), Columns(x, width + 4, 4), steps,
                           coefficients, states, 1, batch, params);
    };
    const int64_t size = int64_t{4} * 20 * 9;
    ExpectRowsOneByOne(size, width + 8, [&](auto x, auto& states, auto& batch) { return run(cpu, x, states, batch); });
    ExpectRowsOneByOne(size, width + 8,
                       [&](auto x, auto& states, auto& batch) { return run(reference, x, states, batch); });
  }
}

TEST_P(CpuRecurrentStatesTest, OfTheSelectiveScan) {
  const StateSpaceParams params{.heads = 4, .head_dim = 7, .groups = 2, .state = 19};
  const host::Buffer steps = Random(1, 4), skips = Random(1, 4), coefficients = Negative(4);
  const auto run = [&](auto& context, host::View x, host::States& states, const StepGeometry& batch) {
    using B = std::conditional_t<std::is_same_v<std::decay_t<decltype(context)>, Cpu::Context>, Cpu, Reference>;
    return B::SelectiveScan(context, Columns(x, 0, params.width()), Columns(x, params.width(), 4), steps, coefficients,
                            skips, states, 1, batch, params);
  };
  const int64_t size = params.inner() * params.state;
  ExpectRowsOneByOne(size, params.width() + 4,
                     [&](auto x, auto& states, auto& batch) { return run(cpu, x, states, batch); });
  ExpectRowsOneByOne(size, params.width() + 4,
                     [&](auto x, auto& states, auto& batch) { return run(reference, x, states, batch); });
}

INFERFLUX_CPU_TESTS(CpuRecurrentStatesTest);

}  // namespace
}  // namespace inferflux::compute::testing
