#include "engine/native/graphs/graph_shape.h"

#include <gtest/gtest.h>

#include <numeric>

namespace inferflux::engine {
namespace {

// Sequences of one new token each, at these positions, with blocks of 4 tokens: sequence s has the blocks 100 s and on.
compute::StepGeometry StepAt(const std::vector<int32_t>& positions) {
  compute::StepGeometry step{.block_size = 4};
  for (size_t s = 0; s < positions.size(); ++s) {
    const auto row = static_cast<int32_t>(s);
    step.tokens.push_back(50 + row);
    step.positions.push_back(positions[s]);
    step.query_starts.push_back(row);
    step.table_starts.push_back(static_cast<int32_t>(step.block_tables.size()));
    for (int32_t block = 0; block <= positions[s] / 4; ++block) step.block_tables.push_back(100 * row + block);
  }
  step.query_starts.push_back(step.rows());
  step.table_starts.push_back(static_cast<int32_t>(step.block_tables.size()));
  return step;
}

int32_t Doubled(int32_t rows) { return rows > 8 ? 0 : 2 * rows; }

TEST(GraphShape, DoublesItsTokensUpToTheContext) {
  const GraphLimits limits{.sequences = 100, .context = 5000};
  for (const auto& [position, tokens] :
       {std::pair(0, 1024), {1023, 1024}, {1024, 2048}, {2047, 2048}, {4095, 4096}, {4096, 5000}, {4999, 5000}}) {
    EXPECT_EQ(ShapeOf(StepAt({5, position}), limits, &Doubled), (GraphShape{4, tokens})) << position;
  }
  EXPECT_EQ(ShapeOf(StepAt({5}), {.sequences = 100, .context = 40}, &Doubled), (GraphShape{2, 40}));
}

TEST(GraphShape, HasNoMoreRowsThanThereAreSequences) {
  EXPECT_EQ(ShapeOf(StepAt({1, 2, 3}), {.sequences = 5, .context = 64}, &Doubled).rows, 5);
  EXPECT_EQ(ShapeOf(StepAt({1, 2, 3}), {.sequences = 3, .context = 64}, &Doubled).rows, 3);
  EXPECT_EQ(ShapeOf(StepAt({1, 2, 3}), {.sequences = 9, .context = 64, .pads = false}, &Doubled).rows, 3);
}

TEST(GraphShape, NothingWhereThereIsNoRoomForMoreLines) {
  EXPECT_EQ(ShapeOf(StepAt(std::vector<int32_t>(9, 1)), {.sequences = 50, .context = 64}, &Doubled).rows, 0);
  EXPECT_EQ(ShapeOf(StepAt({1, 1, 1, 1}), {.sequences = 50, .context = 64}, &Doubled).rows, 8);
  EXPECT_EQ(ShapeOf(StepAt({1, 1, 1, 1, 1}), {.sequences = 50, .context = 64}, &Doubled).rows, 0) << "a block has 4";
  EXPECT_EQ(ShapeOf(StepAt({1, 1, 1}), {.sequences = 50, .context = 2}, &Doubled).rows, 0) << "position 2 of 2";
}

TEST(GraphShape, ADecodeStepHasOneTokenAndOneRowOfLogitsEach) {
  const BatchItem plain{{0, 1}, {5}, 3, 0, {OutputSpec()}};
  EXPECT_TRUE(IsDecodeItem(plain));
  BatchItem pair = plain, longer = plain, silent = plain, twice = plain, hidden = plain, scored = plain;
  pair.second_text = 1;
  longer.tokens = {5, 6};
  silent.outputs.clear();
  twice.outputs.push_back(OutputSpec());
  hidden.outputs[0].kind = OutputSpec::Kind::kHidden;
  scored.outputs[0].kind = OutputSpec::Kind::kLogprobs;
  for (const BatchItem& item : {pair, longer, silent, twice, hidden}) {
    EXPECT_FALSE(IsDecodeItem(item));
    EXPECT_FALSE(IsDecodeStep({{plain, item}}));
  }
  EXPECT_TRUE(IsDecodeStep({{plain, scored}}));
  EXPECT_FALSE(IsDecodeStep({}));
}

TEST(GraphShape, AddedLinesHaveTheirOwnPlacesInTheSpareBlock) {
  const compute::StepGeometry step = StepAt({9, 2});
  const compute::StepGeometry out =
      InShape(step, {.rows = 5, .tokens = 14}, {.sequences = 5, .context = 14, .spare_block = 77});
  EXPECT_EQ(out.rows(), 5);
  EXPECT_EQ(out.sequences(), 5);
  EXPECT_EQ(out.most_tokens, 14);
  EXPECT_EQ(out.tokens, (std::vector<TokenId>{50, 51, 0, 0, 0}));
  EXPECT_EQ(out.positions, (std::vector<int32_t>{9, 2, 0, 1, 2}));
  EXPECT_EQ(out.table_starts, (std::vector<int32_t>{0, 4, 8, 12, 16, 20}));
  EXPECT_EQ(out.block_tables,
            (std::vector<int32_t>{0, 1, 2, 77, 100, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77}));
}

TEST(GraphShape, RoomThatIsOnlyReservedIsCutOff) {
  compute::StepGeometry step = StepAt({40});
  step.positions[0] = 3;  // ten blocks are reserved
  const auto out = InShape(step, {.rows = 1, .tokens = 8}, {.sequences = 1, .context = 8, .spare_block = 77});
  EXPECT_EQ(out.block_tables, (std::vector<int32_t>{0, 1}));
}

TEST(GraphShape, ADecodeStepHasOneTokenAndOneOutputEach) {
  const BatchItem decode{.tokens = {1}, .outputs = {{}}};
  EXPECT_TRUE(IsDecodeStep({{decode, decode}}));
  EXPECT_FALSE(IsDecodeStep({}));
  BatchItem prompt = decode, silent = decode, several = decode, hidden = decode;
  prompt.tokens = {1, 2};
  silent.outputs.clear();
  several.outputs.resize(2);
  hidden.outputs[0].kind = OutputSpec::Kind::kHidden;
  for (const BatchItem& other : {prompt, silent, several, hidden}) EXPECT_FALSE(IsDecodeStep({{decode, other}}));
}

}  // namespace
}  // namespace inferflux::engine
