// What a context of the CPU is made of, how rows are cut into runs, and which of its settings are refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "compute/cpu/cpu_test.h"
#include "compute/cpu/kernels/select_isa.h"
#include "compute/cpu/ops/activations.h"
#include "compute/cpu/packing/zero_points.h"
#include "compute/cpu/read_bandwidth.h"

namespace inferflux::compute::testing {
namespace {

using ::inferflux::testing::ForcedIsa;

TEST(CpuContext, NeedsAPoolAndADeviceThatIsThere) {
  const ForcedIsa forced(CpuIsa::kScalar);
  ThreadPool one(1), two(2);
  EXPECT_EQ(Cpu::CreateContext({}).error().message, "the backend cpu needs a thread pool");
  EXPECT_EQ(Cpu::CreateContext({.device = "gpu", .pool = &two}).error().message,
            "the backend cpu has no device 'gpu': it has 0 (scalar on 2 cores, cpu)");
  EXPECT_EQ(Cpu::Devices({.pool = &one}).front().name, "scalar on 1 core");
  EXPECT_EQ(Cpu::Devices({}).front().name, "scalar on 1 core");
  EXPECT_EQ(Cpu::Devices({.pool = &two}).size(), 1u);
  for (const bool repack : {false, true}) {
    const auto context = Cpu::CreateContext({.device = "cpu", .pool = &two, .repack = repack});
    ASSERT_TRUE(context) << context.error().message;
    EXPECT_EQ((*context)->repack, repack);
    EXPECT_EQ((*context)->kernels.isa, CpuIsa::kScalar);
    EXPECT_EQ(&(*context)->pool, &two);
  }
  EXPECT_EQ(Reference::CreateContext({.device = "gpu"}).error().message,
            "the backend reference has no device 'gpu': it has 0 (scalar on 1 core, cpu)");
  EXPECT_TRUE(Reference::CreateContext({.device = "cpu"}));
}

TEST(CpuContext, AnIsaThatIsNoneIsNamed) {
  ThreadPool pool(1);
  ::setenv("INFERFLUX_CPU_ISA", "sse9", 1);
  const auto context = Cpu::CreateContext({.pool = &pool});
  const auto devices = Cpu::Devices({.pool = &pool});
  ::setenv("INFERFLUX_CPU_ISA", "", 1);
  const auto unset = cpu::SelectCpuIsa();
  ::unsetenv("INFERFLUX_CPU_ISA");
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().message,
            "INFERFLUX_CPU_ISA=sse9: unknown; use scalar, avx2, avx-vnni, avx512-vnni, amx or neon");
  EXPECT_EQ(devices.front().name, "scalar on 1 core");
  EXPECT_EQ(*unset, *cpu::SelectCpuIsa()) << "empty is unset";
}

#if defined(__x86_64__)
TEST(CpuContext, ABuildSaysWhatItLacksWordForWord) {
  constexpr std::array kFew = {CpuIsa::kScalar, CpuIsa::kAvx2};
  const auto note = [&](const CpuFeatures& features) { return cpu::DescribeBuild(kFew, features); };
  EXPECT_EQ(note({}).text, "built for this machine's instruction sets alone: scalar, avx2");
  EXPECT_FALSE(note({}).slower);
  const auto better = note({.avx2 = true, .avx512_vnni = true});
  EXPECT_TRUE(better.slower);
  EXPECT_EQ(better.text,
            "built for another machine's instruction sets: scalar, avx2; this one runs avx512-vnni, which is faster: "
            "build with -DINFERFLUX_CPU=native here, or with -DINFERFLUX_CPU=all");
}
#endif

std::string Runs(int64_t rows, bool in_lanes) {
  const cpu::RowRuns runs = cpu::RunsOf(rows, in_lanes);
  std::string out = fmt::format("{}:", runs.count);
  for (int64_t i = 0; i <= runs.count; ++i) out += fmt::format(" {}", runs.First(i));
  return out;
}

TEST(CpuRowRuns, AreTasksOrEvenRunsOfVectors) {
  EXPECT_EQ(Runs(0, false), "0: 0");
  EXPECT_EQ(Runs(1, false), "1: 0 1");
  EXPECT_EQ(Runs(64, false), "1: 0 64");
  EXPECT_EQ(Runs(65, false), "2: 0 64 65");
  EXPECT_EQ(Runs(130, false), "3: 0 64 128 130");
  EXPECT_EQ(Runs(64, true), "1: 0 64");
  EXPECT_EQ(Runs(65, true), "2: 0 32 65");
  EXPECT_EQ(Runs(112, true), "2: 0 56 112");
  EXPECT_EQ(Runs(113, true), "3: 0 40 80 113");
  EXPECT_EQ(Runs(168, true), "3: 0 56 112 168");
}

TEST(CpuZeroPointRuns, AreThoseOfTheWorstRow) {
  std::mt19937 random(3);
  for (const int workers : {1, 3}) {
    ThreadPool pool(workers);
    for (const int64_t bad : {0, 63, 64, 129}) {
      OwnedMatrix matrix = ZeroPoint4Matrix(random, 130, 256, 4);
      auto* blocks = reinterpret_cast<formats::BlockQ8_0*>(matrix.bytes.data());
      EXPECT_EQ(cpu::ZeroPoint4Run(matrix.matrix, pool), 4);
      formats::BlockQ8_0& last = blocks[bad * 8 + 7];
      last.d = ToFp16(3 * ToFloat(last.d));
      EXPECT_EQ(cpu::ZeroPoint4Run(matrix.matrix, pool), 1) << "a scale of its own, in row " << bad;
      last.qs[3] = 100;
      last.qs[4] = 84;
      EXPECT_EQ(cpu::ZeroPoint4Run(matrix.matrix, pool), 0) << "16 apart, in row " << bad;
    }
  }
}

// Panels of 16 outputs, each part's from a multiple of 64 bytes on.
TEST(CpuPackedBytes, AreCountedInWholePanelsAndLines) {
  ThreadPool pool(2);
  Cpu::Context context(pool, CpuIsa::kScalar), in_file(pool, CpuIsa::kScalar);
  in_file.repack = false;
  std::mt19937 random(5);
  const OwnedMatrix a = RandomMatrix(formats::TensorType::kF32, random, 17, 3),
                    b = RandomMatrix(formats::TensorType::kF32, random, 1, 3);
  const std::vector<HostMatrix> parts{a.matrix, b.matrix};
  const auto packed = *Cpu::LoadMatrix(context, parts);
  EXPECT_EQ(packed.bytes(), 2u * 16 * 3 * 4 + 16 * 3 * 4);
  EXPECT_EQ(context.weight_bytes, 576);
  EXPECT_EQ(packed.rows, 18);
  EXPECT_EQ(packed.tasks, 2);
  EXPECT_EQ(Cpu::Describe(packed), "F32+F32 [18, 3] packed as f32+f32, scalar");
  const auto unpacked = *Cpu::LoadMatrix(in_file, parts);
  EXPECT_EQ(in_file.weight_bytes, 18 * 3 * 4);
  EXPECT_EQ(Cpu::Describe(unpacked), "F32+F32 [18, 3] packed for each matmul as f32+f32, scalar");
  ASSERT_TRUE(Cpu::LoadTable(context, a.matrix));
  EXPECT_EQ(context.weight_bytes, 576 + 17 * 3 * 4);
  EXPECT_EQ(Cpu::LoadMatrix(context, {}).error().message, "a matrix of no parts");
  EXPECT_EQ(Reference::Describe(*Reference::LoadMatrix(*std::make_unique<Reference::Context>(), parts)),
            "F32+F32 [18, 3] dequantised to f32, scalar");
}

TEST(CpuRates, TheMedianIsOfAtLeastThreeRuns) {
  int runs = 0;
  const double rate = cpu::MedianRate(0.0, [&] {
    std::this_thread::sleep_for(std::chrono::microseconds(50));  // a clock's tick at least
    constexpr double kWork[] = {1e30, 1e-30, 1.0};
    return kWork[std::min(runs++, 2)];
  });
  EXPECT_EQ(runs, 3);
  EXPECT_GT(rate, 1e-9);
  EXPECT_LT(rate, 1e9) << "neither the greatest nor the least";
}

}  // namespace
}  // namespace inferflux::compute::testing
