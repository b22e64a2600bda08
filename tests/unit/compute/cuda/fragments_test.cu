// ldmatrix and mma.sync against the fragment layouts of the PTX manual, transcribed from its figures as data.
#include <random>

#include "compute/cuda/device/mma.h"
#include "compute/cuda/device/shared_memory.h"
#include "compute/cuda/device/warp.h"
#include "compute/cuda/test_device.h"

namespace inferflux::cuda {
namespace {

using testing::TestDevice;

// PTX ISA 9.7.14.5: in each figure the 32 threads cover an 8 x 4 grid of cells, and the grid is repeated. A cell is a
// few neighbours of a row (A, C) or of a column (B).
constexpr int kThreadOfRow[8][4] = {{0, 1, 2, 3},     {4, 5, 6, 7},     {8, 9, 10, 11},   {12, 13, 14, 15},
                                    {16, 17, 18, 19}, {20, 21, 22, 23}, {24, 25, 26, 27}, {28, 29, 30, 31}};
constexpr int kThreadOfColumn[4][8] = {{0, 4, 8, 12, 16, 20, 24, 28},
                                       {1, 5, 9, 13, 17, 21, 25, 29},
                                       {2, 6, 10, 14, 18, 22, 26, 30},
                                       {3, 7, 11, 15, 19, 23, 27, 31}};

// Where a grid begins in the matrix, and which element of a thread its first cell holds.
struct Grid {
  int row, column, element;
};
// "Matrix Fragments for mma.m16n8k16 with floating point type", .f16 and .bf16: {a0,a1} {a4,a5} / {a2,a3} {a6,a7}.
constexpr Grid kA16[] = {{0, 0, 0}, {0, 8, 4}, {8, 0, 2}, {8, 8, 6}};
constexpr Grid kB16[] = {{0, 0, 0}, {8, 0, 2}};
// "Matrix Fragments for mma.m16n8k32", .s8 and .e4m3: {a0..a3} {a8..a11} / {a4..a7} {a12..a15}.
constexpr Grid kA8[] = {{0, 0, 0}, {0, 16, 8}, {8, 0, 4}, {8, 16, 12}};
constexpr Grid kB8[] = {{0, 0, 0}, {16, 0, 4}};
constexpr Grid kC[] = {{0, 0, 0}, {8, 0, 2}};  // {c0,c1} / {c2,c3}

// visit(thread, element, row, column) for each element of A or C, whose cells have `width` elements.
template <class Visit>
void ByRows(std::span<const Grid> grids, int width, const Visit& visit) {
  for (const Grid& grid : grids) {
    for (int row = 0; row < 8; ++row) {
      for (int cell = 0; cell < 4; ++cell) {
        for (int i = 0; i < width; ++i) {
          visit(kThreadOfRow[row][cell], grid.element + i, grid.row + row, grid.column + cell * width + i);
        }
      }
    }
  }
}
// The same for B.
template <class Visit>
void ByColumns(std::span<const Grid> grids, int height, const Visit& visit) {
  for (const Grid& grid : grids) {
    for (int cell = 0; cell < 4; ++cell) {
      for (int column = 0; column < 8; ++column) {
        for (int i = 0; i < height; ++i) {
          visit(kThreadOfColumn[cell][column], grid.element + i, grid.row + cell * height + i, grid.column + column);
        }
      }
    }
  }
}

template <class T, class Sum>
__global__ void OneProduct(const FragmentA* a, const FragmentB* b, FragmentC<Sum>* d) {
  FragmentC<Sum> sum = d[Lane()];
  if constexpr (std::is_same_v<Sum, float>) {
    MatMulAdd<T>(sum, a[Lane()], b[Lane()]);
  } else {
    MatMulAdd(sum, a[Lane()], b[Lane()]);
  }
  d[Lane()] = sum;
}

// Small whole numbers, whose sums every type and order of additions gets exactly.
template <class T>
T Make(int value) {
  if constexpr (std::is_same_v<T, Fp16>) {
    return ToFp16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, Bf16>) {
    return ToBf16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, Fp8>) {
    return ToFp8(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T, class Sum>
void ExpectProduct() {
  constexpr int kPacked = 4 / sizeof(T);
  constexpr int kDepth = 8 * kPacked;
  std::mt19937 random(5);
  const auto number = [&] { return static_cast<int>(random() % 17) - 8; };
  int a[16][kDepth], b[kDepth][8], c[16][8];
  for (auto& row : a) std::generate(std::begin(row), std::end(row), number);
  for (auto& row : b) std::generate(std::begin(row), std::end(row), number);
  for (auto& row : c) std::generate(std::begin(row), std::end(row), number);

  std::vector<FragmentA> a_parts(32);
  std::vector<FragmentB> b_parts(32);
  std::vector<FragmentC<Sum>> d_parts(32);
  const auto put = [](auto& fragment, int element, int value) {
    const T made = Make<T>(value);
    std::memcpy(reinterpret_cast<char*>(&fragment) + element * sizeof(T), &made, sizeof(T));
  };
  constexpr bool kWide = sizeof(T) == 2;
  ByRows(kWide ? std::span<const Grid>(kA16) : std::span<const Grid>(kA8), kPacked,
         [&](int thread, int element, int row, int column) { put(a_parts[thread], element, a[row][column]); });
  ByColumns(kWide ? std::span<const Grid>(kB16) : std::span<const Grid>(kB8), kPacked,
            [&](int thread, int element, int row, int column) { put(b_parts[thread], element, b[row][column]); });
  ByRows(kC, 2, [&](int thread, int element, int row, int column) {
    d_parts[thread].x[element] = static_cast<Sum>(c[row][column]);
  });

  TestDevice device;
  auto* d = device.Upload(d_parts);
  const auto fault = device.Run(OneProduct<T, Sum>, {1}, {32}, 0, device.Upload(a_parts), device.Upload(b_parts), d);
  ASSERT_FALSE(fault) << executor::ToError(*fault).message;
  d_parts = device.Download(d, 32);
  int seen = 0;
  ByRows(kC, 2, [&](int thread, int element, int row, int column) {
    int sum = c[row][column];
    for (int k = 0; k < kDepth; ++k) sum += a[row][k] * b[k][column];
    EXPECT_EQ(d_parts[thread].x[element], static_cast<Sum>(sum)) << "row " << row << ", column " << column;
    ++seen;
  });
  EXPECT_EQ(seen, 128);
}

TEST(Fragments, ProductsOfFp16) { ExpectProduct<Fp16, float>(); }
TEST(Fragments, ProductsOfBf16) { ExpectProduct<Bf16, float>(); }
TEST(Fragments, ProductsOfFp8) { ExpectProduct<Fp8, float>(); }
TEST(Fragments, ProductsOfBytes) { ExpectProduct<int8_t, int32_t>(); }

// Matrix i of 8 x 8 holds 64 * i + 8 * row + column.
template <int kMatrices, bool kTranspose>
__global__ void LoadNumbered(uint32_t* out) {
  uint16_t* shared = SharedMemory<uint16_t>();
  for (int i = Lane(); i < kMatrices * 64; i += kWarpSize) shared[i] = static_cast<uint16_t>(i);
  SyncWarp();
  const uint16_t* row = shared + 8 * (Lane() % (kMatrices * 8));
  uint32_t registers[kMatrices];
  if constexpr (kMatrices == 4) {
    LoadMatrix4<kTranspose>(registers, row);
  } else {
    LoadMatrix2<kTranspose>(registers, row);
  }
  for (int i = 0; i < kMatrices; ++i) out[Lane() * kMatrices + i] = registers[i];
}

// PTX ISA 9.7.14.5.15, ldmatrix: "a thread holds two neighbours of a row" in the grid of the figures; with .trans, of a
// column.
template <int kMatrices, bool kTranspose>
void ExpectLoaded() {
  TestDevice device;
  auto* out = device.New<uint32_t>(32 * kMatrices);
  const auto fault = device.Run(LoadNumbered<kMatrices, kTranspose>, {1}, {32}, 1024, out);
  ASSERT_FALSE(fault) << executor::ToError(*fault).message;
  const std::vector<uint32_t> loaded = device.Download(out, 32 * kMatrices);
  const Grid kWhole[] = {{0, 0, 0}};
  for (int matrix = 0; matrix < kMatrices; ++matrix) {
    ByRows(kWhole, 2, [&](int thread, int element, int row, int column) {
      const uint32_t expected = 64 * matrix + (kTranspose ? 8 * column + row : 8 * row + column);
      EXPECT_EQ(loaded[thread * kMatrices + matrix] >> (16 * element) & 0xffff, expected);
    });
  }
}

TEST(Fragments, LoadsOfFourMatrices) {
  ExpectLoaded<4, false>();
  ExpectLoaded<4, true>();
}
TEST(Fragments, LoadsOfTwoMatrices) {
  ExpectLoaded<2, false>();
  ExpectLoaded<2, true>();
}

}  // namespace
}  // namespace inferflux::cuda
