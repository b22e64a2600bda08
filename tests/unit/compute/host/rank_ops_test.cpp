// What ranks exchange of rows, with shares of several widths and rows that are apart in memory.
#include "compute/host/rank_ops.h"

#include <gtest/gtest.h>

#include <thread>

#include "collective/shared_memory/shared_memory_collective.h"
#include "compute/host/copies.h"

namespace inferflux::compute::host {
namespace {

using Numbers = std::vector<float>;

// What each of the ranks returns.
template <class F>
std::vector<Numbers> OnRanks(int32_t count, F run) {
  const auto segment = *collective::Segment::Create(count, 1 << 16);
  std::vector<Numbers> out(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      const auto own = *collective::SharedMemoryCollective::Join(segment, rank);
      out[static_cast<size_t>(rank)] = run(*own, rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return out;
}

Buffer Filled(Arena& arena, int64_t rows, int64_t cols, float first) {
  Buffer out = arena.Allocate(rows, cols);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) out.row(r)[c] = first + static_cast<float>(r * 10 + c % 10);
  }
  return out;
}

TEST(RankOps, SumsAreOfEachPlace) {
  for (const int64_t cols : {int64_t{3}, int64_t{1024}}) {  // rows of a page are apart in memory
    const auto sums = OnRanks(2, [&](collective::Collective& ranks, int32_t rank) {
      Arena arena;
      return Read(SumOverRanks(ranks, Filled(arena, 2, cols, rank == 0 ? 1.0f : 100.0f)));
    });
    ASSERT_EQ(sums[0].size(), static_cast<size_t>(2 * cols));
    EXPECT_EQ(sums[0], sums[1]);
    EXPECT_EQ(sums[0][0], 101);
    EXPECT_EQ(sums[0][2], 105);
    EXPECT_EQ(sums[0][static_cast<size_t>(cols)], 121);
    EXPECT_EQ(sums[0][static_cast<size_t>(cols) + 2], 125);
  }
  const auto none = OnRanks(1, [](collective::Collective& ranks, int32_t) {
    Arena arena;
    return Read(SumOverRanks(ranks, arena.Allocate(0, 4)));
  });
  EXPECT_TRUE(none[0].empty());
}

TEST(RankOps, ColumnsAreJoinedInTheOrderOfTheRanks) {
  const std::vector<int64_t> columns{2, 1, 3};
  const auto joined = OnRanks(3, [&](collective::Collective& ranks, int32_t rank) {
    Arena arena;
    const Buffer own = Filled(arena, 2, columns[static_cast<size_t>(rank)], static_cast<float>(rank + 1) * 100);
    const Buffer all = GatherOverRanks(arena, ranks, own, columns);
    EXPECT_EQ(all.rows(), 2);
    EXPECT_EQ(all.cols(), 6);
    return Read(all);
  });
  const Numbers wanted{100, 101, 200, 300, 301, 302, 110, 111, 210, 310, 311, 312};
  for (const Numbers& each : joined) EXPECT_EQ(each, wanted);
}

TEST(RankOps, RowsArriveAsTheyWereSent) {
  const auto received = OnRanks(2, [](collective::Collective& ranks, int32_t rank) {
    Arena arena;
    if (rank == 0) {
      SendRows(ranks, Filled(arena, 2, 3, 5), 1);
      return Numbers();
    }
    const Buffer rows = ReceiveRows(arena, ranks, 2, 3, 0);
    EXPECT_EQ(rows.rows(), 2);
    EXPECT_EQ(rows.cols(), 3);
    return Read(rows);
  });
  EXPECT_EQ(received[1], (Numbers{5, 6, 7, 15, 16, 17}));
}

}  // namespace
}  // namespace inferflux::compute::host
