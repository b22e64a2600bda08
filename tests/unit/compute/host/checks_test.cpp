// What is checked before a backend computes: matrices, devices, recurrent states; and the sizes of scratch memory.
#include <gtest/gtest.h>

#include "compute/device.h"
#include "compute/host/arena.h"
#include "compute/host/check_matrix.h"
#include "compute/host/copies.h"
#include "compute/host/states.h"

namespace inferflux::compute {
namespace {

using formats::TensorType;

struct Checks : ::testing::Test {
  HostMatrix Matrix(std::string name, TensorType type, int64_t rows, int64_t cols, size_t bytes) const {
    return {.name = std::move(name),
            .type = type,
            .rows = rows,
            .cols = cols,
            .data = std::span(numbers).first(bytes),
            .owner = nullptr};
  }
  std::string Said(const std::vector<HostMatrix>& parts) const {
    const Status checked = host::CheckParts(parts);
    return checked ? "right" : checked.error().message;
  }
  std::vector<std::byte> numbers{4096};
};

TEST_F(Checks, AMatrixHasTheBytesOfItsType) {
  const HostMatrix a = Matrix("a", TensorType::kQ4_0, 3, 64, 108), b = Matrix("b", TensorType::kF32, 1, 64, 256);
  EXPECT_EQ(Said({a, b}), "right");
  EXPECT_EQ(Said({}), "a matrix of no parts");
  EXPECT_EQ(Said({Matrix("a", TensorType::kF32, 0, 64, 0)}), "a is [0, 64]: empty");
  EXPECT_EQ(Said({Matrix("a", TensorType::kF32, 1, 0, 0)}), "a is [1, 0]: empty");
  EXPECT_EQ(Said({a, Matrix("c", TensorType::kF32, 1, 63, 252)}),
            "c has 63 inputs where a has 64: they cannot share a matmul");
  EXPECT_EQ(Said({Matrix("a", TensorType::kQ4_0, 3, 64, 107)}),
            "a holds 107 bytes, not what [3, 64] of its type takes");
  EXPECT_EQ(Said({Matrix("a", TensorType::kQ4_0, 3, 64, 109)}),
            "a holds 109 bytes, not what [3, 64] of its type takes");
  EXPECT_EQ(Said({Matrix("a", TensorType::kQ4_0, 1, 65, 36)}),
            "a row of 65 elements is not a whole number of Q4_0 blocks of 32");
  HostMatrix layout = Matrix("d", TensorType::kF32, 2, 64, 0);
  layout.layout = std::make_shared<formats::WeightLayout>(formats::ActOrderLayout{});
  EXPECT_EQ(Said({layout}), "d: its numbers and scales are not of [2, 64]");
  EXPECT_EQ(host::TypesOf(std::vector{a, b, a}), "Q4_0+F32+Q4_0");
  EXPECT_EQ(host::StoredBytesOf(a), 108);
  EXPECT_EQ(host::RowBytesOf(a), 36);
}

TEST(Devices, AreFoundByIndexIdentityOrName) {
  const std::vector<Device> devices{
      {.name = "L4", .id = "CUDA0", .uuid = "GPU-11111111-2222-3333-4444-555555555555", .pci_address = "0000:c1:00.0"},
      {.name = "L4", .id = "CUDA1"},
      {.name = "T4"}};
  const auto find = [&](std::string_view word) {
    const auto found = FindDevice(devices, word, "cuda");
    return found ? std::to_string(*found) : found.error().message;
  };
  EXPECT_EQ(find(""), "0");
  EXPECT_EQ(find("0"), "0");
  EXPECT_EQ(find("2"), "2");
  EXPECT_EQ(find("CUDA1"), "1");
  EXPECT_EQ(find("T4"), "2");
  EXPECT_EQ(find("c1:00.0"), "0");
  EXPECT_EQ(find("GPU-11111111-2222-3333-4444-555555555555"), "0");
  const std::string known = "it has 0 (L4, CUDA0), 1 (L4, CUDA1), 2 (T4)";
  EXPECT_EQ(find("3"), "the backend cuda has no device '3': " + known);
  EXPECT_EQ(find("1x"), "the backend cuda has no device '1x': " + known);
  EXPECT_EQ(find("L4"), "the backend cuda has 2 devices 'L4': " + known);
  EXPECT_EQ(FindDevice({}, "", "cuda").error().message, "the backend cuda has no device on this machine");
  EXPECT_TRUE(DevicesNamed(devices, "").empty());
}

TEST(RecurrentStates, HaveASlotForEachSequence) {
  auto states = host::CreateStates({.layers = {3, 0, 2}, .slots = 2});
  ASSERT_TRUE(states);
  states->Part(0, 1)[2] = 7;
  states->Part(2, 1)[0] = 8;
  std::vector<size_t> sizes;
  std::vector<float> values;
  host::VisitState(*states, 1, [&](std::span<std::byte> part) {
    sizes.push_back(part.size());
    const auto* floats = reinterpret_cast<const float*>(part.data());
    values.insert(values.end(), floats, floats + part.size() / 4);
  });
  EXPECT_EQ(sizes, (std::vector<size_t>{12, 8})) << "a part of no values is left out";
  EXPECT_EQ(values, (std::vector<float>{0, 0, 7, 8, 0}));
  EXPECT_EQ(host::CreateStates({.layers = {3}, .slots = 0}).error().message, "0 recurrent states of 12 bytes each");
  EXPECT_EQ(host::CreateStates({.layers = {-3}, .slots = 1}).error().message, "1 recurrent states of -1 bytes each");
  EXPECT_EQ(host::CreateStates({.layers = {int64_t{1} << 40}, .slots = 1 << 10}).error().message,
            "1024 recurrent states of 4398046511104 bytes each");
}

TEST(Scratch, ARowOfPagesHasALineMoreUnlessItIsAlone) {
  host::Arena arena;
  const auto apart = [&](int64_t cols) {
    host::Buffer buffer = arena.Allocate(2, cols);
    return buffer.row(1) - buffer.row(0);
  };
  EXPECT_EQ(apart(1023), 1023);
  EXPECT_EQ(apart(1024), 1040);
  EXPECT_EQ(apart(1025), 1025);
  EXPECT_EQ(apart(2048), 2064);
  host::Arena other;
  other.Allocate(1, 1024);
  EXPECT_EQ(other.bytes(), 4096u) << "one row has no neighbour";
}

TEST(Copies, RowsAreTakenInTheOrderOfTheirIndices) {
  host::Arena arena;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const host::View x{values.data(), 3, 2, 2};
  const auto taken = host::GatherRows(arena, x, std::vector<int32_t>{2, 0, 2});
  const host::View rows = taken;
  ASSERT_EQ(rows.rows, 3);
  ASSERT_EQ(rows.cols, 2);
  std::vector<float> out;
  for (int64_t r = 0; r < 3; ++r) out.insert(out.end(), rows.row(r), rows.row(r) + 2);
  EXPECT_EQ(out, (std::vector<float>{5, 6, 1, 2, 5, 6}));
  const auto copied = host::CopyIn(arena, values);
  EXPECT_EQ(host::View(copied).rows, 1);
  EXPECT_EQ(host::View(copied).cols, 6);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), host::View(copied).row(0)));
}

}  // namespace
}  // namespace inferflux::compute
