// Mamba-2's selective scan: the reference beside a recurrence in doubles, the vectors beside the reference, at widths
// that fill vectors and that do not.
#include <cmath>
#include <vector>

#include "compute/cpu/cpu_test.h"

namespace inferflux::compute::testing {
namespace {

class CpuSelectiveScanTest : public CpuTest {};

struct ScanCase {
  StateSpaceParams params;
  int32_t rows;
};

struct ScanData {
  host::Buffer xbc, dt, steps, coefficients, skips;
};

// Every row of one sequence, by the formula.
std::vector<double> Scanned(const ScanData& in, const StateSpaceParams& params, int32_t rows) {
  const host::View xbc = in.xbc, dt = in.dt, steps = in.steps, coefficients = in.coefficients, skips = in.skips;
  const auto heads = static_cast<size_t>(params.heads), width = static_cast<size_t>(params.head_dim),
             n = static_cast<size_t>(params.state);
  std::vector<double> out, state(heads * width * n);
  for (int32_t row = 0; row < rows; ++row) {
    for (size_t head = 0; head < heads; ++head) {
      const double step = std::log1p(std::exp(double{dt.row(row)[head]} + steps.data[head]));
      const size_t group = head * static_cast<size_t>(params.groups) / heads;
      const float* b = xbc.row(row) + heads * width + group * n;
      const float* c = b + static_cast<size_t>(params.groups) * n;
      for (size_t p = 0; p < width; ++p) {
        const double x = xbc.row(row)[head * width + p];
        double y = skips.data[head] * x;
        for (size_t i = 0; i < n; ++i) {
          double& s = state[(head * width + p) * n + i];
          s = s * std::exp(coefficients.data[head] * step) + step * x * b[i];
          y += s * c[i];
        }
        out.push_back(y);
      }
    }
  }
  return out;
}

double WorstOf(host::View actual, const std::vector<double>& expected) {
  double worst = 0.0, largest = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / actual.cols, col = static_cast<int64_t>(i) % actual.cols;
    worst = std::max(worst, std::abs(actual.row(row)[col] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return worst / largest;
}

TEST_P(CpuSelectiveScanTest, EqualsTheFormulaAndItsOwnPieces) {
  for (const auto& [params, rows] : {ScanCase{{.heads = 3, .head_dim = 1, .groups = 1, .state = 5}, 4},
                                     ScanCase{{.heads = 6, .head_dim = 7, .groups = 3, .state = 1}, 9},
                                     ScanCase{{.heads = 4, .head_dim = 64, .groups = 2, .state = 16}, 11},
                                     ScanCase{{.heads = 2, .head_dim = 45, .groups = 1, .state = 33}, 5}}) {
    SCOPED_TRACE(params.head_dim);
    ScanData in{Random(rows, params.width()), Random(rows, params.heads), Random(1, params.heads),
                Random(1, params.heads), Random(1, params.heads)};
    for (int32_t head = 0; head < params.heads; ++head) {
      in.coefficients.row(0)[head] = -std::abs(in.coefficients.row(0)[head]);
    }
    const std::vector<int64_t> parts{params.inner() * params.state};
    auto states = *host::CreateStates({.layers = parts, .slots = 3});
    const auto scan = [&](auto& context, host::View rows_of, host::View dt, StepGeometry batch) {
      using B = std::conditional_t<std::is_same_v<std::decay_t<decltype(context)>, Cpu::Context>, Cpu, Reference>;
      return B::SelectiveScan(context, rows_of, dt, in.steps, in.coefficients, in.skips, states, 0, batch, params);
    };
    const StepGeometry whole{.query_starts = {0, rows}, .states = {{.to = 0}}};
    const auto expected = Scanned(in, params, rows);
    EXPECT_LT(WorstOf(scan(reference, in.xbc, in.dt, whole), expected), 1e-5);
    const auto at_once = scan(cpu, in.xbc, in.dt, whole);
    EXPECT_LT(WorstOf(at_once, expected), 1e-5);
    // The first rows, whose state is marked after the second, and the rest from that state.
    const StepGeometry first{.query_starts = {0, 3}, .states = {{.to = 1}}, .state_marks = {{.row = 1, .slot = 2}}};
    const auto rows_from = [](host::View all, int64_t from, int64_t count) {
      return host::View{all.row(from), count, all.cols, all.stride};
    };
    const auto start = scan(cpu, rows_from(in.xbc, 0, 3), rows_from(in.dt, 0, 3), first);
    const StepGeometry rest{.query_starts = {0, rows - 2}, .states = {{.from = 2, .to = 0}}};
    const auto end = scan(cpu, rows_from(in.xbc, 2, rows - 2), rows_from(in.dt, 2, rows - 2), rest);
    for (int64_t row = 0; row < rows; ++row) {
      const float* pieces = row < 2 ? host::View(start).row(row) : host::View(end).row(row - 2);
      for (int64_t c = 0; c < params.inner(); ++c) {
        ASSERT_EQ(host::View(at_once).row(row)[c], pieces[c]) << "row " << row << ", column " << c;
      }
    }
  }
}

INFERFLUX_CPU_TESTS(CpuSelectiveScanTest);

}  // namespace
}  // namespace inferflux::compute::testing
