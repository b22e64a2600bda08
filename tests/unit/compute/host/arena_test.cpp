#include "compute/host/arena.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace inferflux::compute::host {
namespace {

constexpr int64_t kPageFloats = 4096 / sizeof(float);

// With a bad stride, one line per row would map to the same few sets of a cache.
TEST(ArenaTest, RowsAreNotWholePagesApart) {
  Arena arena;
  for (const int64_t cols : {kPageFloats, 2 * kPageFloats, 16 * kPageFloats}) {
    Buffer buffer = arena.Allocate(3, cols);
    EXPECT_NE((buffer.row(1) - buffer.row(0)) % kPageFloats, 0) << cols;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.row(2)) % 64, 0u) << cols;
    const View view = buffer;
    EXPECT_EQ(view.row(2), buffer.row(2));
    EXPECT_EQ(view.cols, cols);
  }
}

TEST(ArenaTest, WhatIsFreedIsHandedOutAnew) {
  Arena arena;
  for (const int64_t cols : {1, 1000, 1024, 1300, 5000, 70000}) {
    const float* first = arena.Allocate(7, cols).row(0);
    const size_t held = arena.bytes();
    EXPECT_EQ(arena.Allocate(7, cols).row(0), first) << cols;
    EXPECT_EQ(arena.bytes(), held) << cols;
  }
}

// Sizes are rounded up by at most a quarter, except for the smallest.
TEST(ArenaTest, PiecesAreHardlyLargerThanAskedFor) {
  for (int64_t floats = 1024; floats < (1 << 22); floats = floats * 9 / 8 + 1) {
    Arena arena;
    const Buffer buffer = arena.Allocate(1, floats);
    const auto bytes = static_cast<size_t>(floats) * sizeof(float);
    EXPECT_GE(arena.bytes(), bytes);
    EXPECT_LE(arena.bytes(), bytes + bytes / 4);
  }
}

}  // namespace
}  // namespace inferflux::compute::host
