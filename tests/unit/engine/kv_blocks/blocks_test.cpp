// The parts of the KV bookkeeping by themselves: the pool of blocks, the index of prefixes, handles, and what a step
// makes of them.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/hidden_outputs.h"
#include "engine/kv_blocks/block_manager.h"
#include "engine/native/step_plan.h"
#include "engine/native/step_states.h"

namespace inferflux::engine {
namespace {

using Ids = std::vector<int32_t>;
using Place = PrefixIndex::Place;

TEST(BlockPool, GivesFreeBlocksThenTheOneThatWasCachedFirst) {
  BlockPool pool(3);
  const auto take = [&] {
    const auto taken = pool.Take();
    return taken ? fmt::format("{}{}", taken->block, taken->evicted ? " evicted" : "") : std::string("none");
  };
  const auto counts = [&] {
    return fmt::format("{} free {} cached {} held {} available", pool.free(), pool.cached(), pool.held(),
                       pool.available());
  };
  EXPECT_EQ(pool.total(), 3);
  EXPECT_EQ(counts(), "3 free 0 cached 0 held 3 available");
  for (const char* expected : {"0", "1", "2", "none"}) EXPECT_EQ(take(), expected);
  EXPECT_EQ(counts(), "0 free 0 cached 3 held 0 available");
  pool.Share(1);
  EXPECT_EQ(pool.references(1), 2);
  pool.Release(1, true);
  EXPECT_EQ(pool.references(1), 1);
  for (const int32_t block : {1, 0, 2}) pool.Release(block, true);
  EXPECT_EQ(counts(), "0 free 3 cached 0 held 3 available");
  pool.Share(0);  // in the middle of the list
  EXPECT_EQ(pool.references(0), 1);
  EXPECT_EQ(counts(), "0 free 2 cached 1 held 2 available");
  for (const char* expected : {"1 evicted", "2 evicted", "none"}) EXPECT_EQ(take(), expected);
  pool.Release(2, false);
  EXPECT_EQ(counts(), "1 free 0 cached 2 held 1 available");
  EXPECT_EQ(take(), "2");
  pool.Release(0, true);
  pool.Release(1, true);
  pool.Share(1);  // the newest
  pool.Release(1, true);
  pool.Share(0);  // the oldest
  EXPECT_EQ(take(), "1 evicted");
}

std::string Said(const PrefixIndex::Match& match) {
  std::string out = fmt::format("{}:", match.tokens);
  for (const int32_t block : match.blocks) out += fmt::format(" {}", block);
  return out;
}

TEST(PrefixIndex, FindsTheLongestRun) {
  PrefixIndex index(8, 2);
  index.Insert({.salt = 5}, 0, Ids{1, 2});
  index.Insert({.parent = 0, .salt = 5}, 1, Ids{3, 4});
  index.Insert({.parent = 1, .salt = 5}, 2, Ids{5});
  index.Insert({.parent = 0, .salt = 5}, 3, Ids{3, 9});
  const auto find = [&](Ids tokens, uint64_t salt = 5) { return Said(index.Find(tokens, salt)); };
  EXPECT_EQ(find({1, 2, 3, 4, 5, 6}), "5: 0 1 2");
  EXPECT_EQ(find({1, 2, 3, 4}), "4: 0 1");
  EXPECT_EQ(find({1, 2, 3, 9, 5}), "4: 0 3");
  EXPECT_EQ(find({1, 2, 3, 7}), "3: 0 3") << "of equal parts the newest";
  EXPECT_EQ(find({1, 2, 3}), "3: 0 3");
  EXPECT_EQ(find({1, 7}), "1: 0");
  EXPECT_EQ(find({1}), "1: 0");
  EXPECT_EQ(find({}), "0:");
  EXPECT_EQ(find({2, 1}), "0:");
  EXPECT_EQ(find({1, 2, 3, 4, 5}, 6), "0:") << "another salt";
  EXPECT_EQ(find({3, 4}), "0:") << "not at the beginning";
  EXPECT_EQ(index.children(0), 2);
  EXPECT_EQ(index.children(1), 1);
  EXPECT_EQ(index.size(), 4u);
  EXPECT_EQ(index.FindBlock({.parent = 0, .salt = 5}, Ids{3, 4}), 1);
  EXPECT_EQ(index.FindBlock({.parent = 0, .salt = 5}, Ids{3}), std::nullopt);
  EXPECT_EQ(index.FindBlock({.parent = 0, .salt = 6}, Ids{3, 4}), std::nullopt);
  EXPECT_EQ(index.FindBlock({.parent = 1, .salt = 5}, Ids{5}), 2);

  index.Remove(3);
  EXPECT_FALSE(index.contains(3));
  EXPECT_EQ(find({1, 2, 3, 9, 5}), "3: 0 1");
  index.Remove(2);
  EXPECT_EQ(index.children(1), 0);
  index.Remove(1);
  EXPECT_EQ(find({1, 2, 3, 4, 5}), "2: 0");
  EXPECT_EQ(index.children(0), 0);
  index.Remove(0);
  EXPECT_EQ(find({1, 2}), "0:");
  EXPECT_EQ(index.size(), 0u);
}

TEST(PrefixIndex, LooksAtThe64NewestBlocksThatBeginTheSame) {
  PrefixIndex index(100, 2);
  for (int32_t block = 0; block < 65; ++block) index.Insert({}, block, Ids{7, 100 + block});
  const auto part = [&](TokenId second) { return index.FindPart({}, Ids{7, second}); };
  EXPECT_EQ(part(101).block, 1);
  EXPECT_EQ(part(101).tokens, 2);
  EXPECT_EQ(part(100).block, 64) << "block 0 is the 65th";
  EXPECT_EQ(part(100).tokens, 1);
  EXPECT_EQ(index.FindPart({}, Ids{8}).tokens, 0);
}

TEST(SequenceTable, HandlesAreUsedOnce) {
  SequenceTable table(2);
  const auto first = table.Open(), second = table.Open();
  EXPECT_EQ(first->slot, 0u);
  EXPECT_EQ(first->generation, 1u);
  EXPECT_EQ(second->slot, 1u);
  EXPECT_EQ(table.live(), 2);
  EXPECT_EQ(table.Open().error().message, "all 2 sequences of this engine are in use");
  (*table.Find(*first))->tokens = {1, 2};
  ASSERT_TRUE(table.Close(*first));
  EXPECT_EQ(table.live(), 1);
  EXPECT_EQ(table.Close(*first).error().message, "no live sequence 0:1: it was closed, or never opened");
  const auto again = table.Open();
  EXPECT_EQ(again->slot, 0u);
  EXPECT_EQ(again->generation, 2u);
  EXPECT_EQ((*table.Find(*again))->length(), 0);
  EXPECT_FALSE(table.Find(SequenceId{.slot = 0, .generation = 1}));
  EXPECT_FALSE(table.Find(SequenceId{.slot = 2, .generation = 1}));
  EXPECT_FALSE(std::as_const(table).Find(SequenceId{.slot = 1, .generation = 0}));
}

struct Steps : ::testing::Test {
  // A sequence of these tokens, with room for more.
  SequenceId Make(const Ids& tokens, int32_t room) {
    const SequenceId id = store.Open({}, 0)->sequence;
    EXPECT_TRUE(store.Reserve(id, room));
    EXPECT_TRUE(store.Commit(id, tokens));
    return id;
  }
  std::string Said(const BatchItem& item) const { return SaidOf({.items = {item}}); }
  std::string SaidOf(const UnifiedBatch& batch) const {
    const auto plan = PlanStep(store, batch, 10, 12);
    return plan ? "right" : plan.error().message;
  }

  BlockManager store{16, 4, 4};
};

TEST_F(Steps, SayWhatIsWrongWithAnItem) {
  const SequenceId id = Make({1, 2, 3}, 12);
  const BatchItem right{.sequence = id, .tokens = {0, 9}, .first_position = 3, .outputs = {{.token_index = 1}}};
  const auto with = [&](auto change) {
    BatchItem item = right;
    change(item);
    return Said(item);
  };
  const auto output = [&](auto change) { return with([&](BatchItem& item) { change(item.outputs[0]); }); };
  const std::string at = "item 0 of the step: ";
  EXPECT_EQ(Said(right), "right");
  EXPECT_EQ(SaidOf({}), "a step of no sequences");
  EXPECT_EQ(with([](auto& i) { i.tokens.clear(); }), at + "no tokens");
  EXPECT_EQ(with([](auto& i) { i.tokens = {1, 10}; }), at + "token 10: the vocabulary ends at 9");
  EXPECT_EQ(with([](auto& i) { i.tokens = {-1, 1}; }), at + "token -1: the vocabulary ends at 9");
  EXPECT_EQ(with([](auto& i) { i.first_position = 2; }), at + "its first position is 2 and the sequence has 3 tokens");
  EXPECT_EQ(with([](auto& i) { i.tokens.assign(9, 1); }), "right");
  EXPECT_EQ(with([](auto& i) { i.tokens.assign(10, 1); }), at + "10 tokens after 3 pass the context of 12");
  EXPECT_EQ(with([](auto& i) { i.sequence.generation = 7; }),
            at + "no live sequence 0:7: it was closed, or never opened");
  EXPECT_EQ(output([](auto& o) { o.token_index = 0; }), "right");
  EXPECT_EQ(output([](auto& o) { o.token_index = 2; }), at + "an output after token 2 of 2");
  EXPECT_EQ(output([](auto& o) { o.token_index = -1; }), at + "an output after token -1 of 2");
  EXPECT_EQ(output([](auto& o) { o.target = 10; }), at + "target token 10: the vocabulary ends at 9");
  EXPECT_EQ(output([](auto& o) { o.banned = {9, 10}; }), at + "banned token 10: the vocabulary ends at 9");
  EXPECT_EQ(output([](auto& o) { o.sampling.dry_breakers = {10}; }), at + "dry breaker 10: the vocabulary ends at 9");
  EXPECT_EQ(output([](auto& o) {
              o.sampling.logit_bias = {{10, 1.0f}};
            }),
            at + "logit_bias of token 10: the vocabulary ends at 9");
  EXPECT_EQ(output([](auto& o) { o.mask = std::make_shared<TokenMask>(10); }), "right");
  EXPECT_EQ(output([](auto& o) { o.mask = std::make_shared<TokenMask>(11); }),
            at + "a mask of 11 tokens: the vocabulary has 10");
  EXPECT_EQ(SaidOf({.items = {right, right}}), "item 1 of the step: its sequence is in the step already");
  const SequenceId narrow = Make({1, 2, 3}, 4);
  BatchItem last{.sequence = narrow, .tokens = {5}, .first_position = 3};
  EXPECT_EQ(Said(last), "right");
  last.tokens = {5, 5};
  EXPECT_EQ(Said(last), at + "2 tokens for a sequence with room for 1: reserve first");
  EXPECT_EQ(SaidOf({.items = {right, last}}),
            "item 1 of the step: 2 tokens for a sequence with room for 1: reserve first");
}

TEST_F(Steps, AreLaidOutInRows) {
  const SequenceId first = Make({1, 2, 3}, 8), second = Make({}, 4);
  const auto plan =
      PlanStep(store,
               {.items = {{.sequence = first, .tokens = {4, 5}, .first_position = 3, .outputs = {{.token_index = 1}}},
                          {.sequence = second,
                           .tokens = {6, 7, 8},
                           .second_text = 2,
                           .outputs = {{.token_index = 0}, {.token_index = 2}}}}},
               10, 12);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto& geometry = plan->geometry;
  EXPECT_EQ(geometry.block_size, 4);
  EXPECT_EQ(geometry.tokens, (Ids{4, 5, 6, 7, 8}));
  EXPECT_EQ(geometry.positions, (Ids{3, 4, 0, 1, 2}));
  EXPECT_EQ(geometry.query_starts, (Ids{0, 2, 5}));
  EXPECT_EQ(geometry.table_starts, (Ids{0, 2, 3}));
  EXPECT_EQ(geometry.block_tables, (Ids{0, 1, 2}));
  EXPECT_EQ(plan->output_rows, (Ids{1, 2, 4}));
  EXPECT_EQ(plan->token_types, (Ids{0, 0, 0, 0, 1}));
}

TEST_F(Steps, HaveTypesOnlyWhereATextIsAPair) {
  const SequenceId first = Make({1, 2, 3}, 8), second = Make({}, 4);
  const BatchItem plain{.sequence = second, .tokens = {6, 7}};
  EXPECT_TRUE(PlanStep(store, {.items = {plain}}, 10, 12)->token_types.empty());
  const BatchItem pair{.sequence = first, .tokens = {4, 5}, .first_position = 3, .second_text = 1};
  EXPECT_EQ(PlanStep(store, {.items = {pair, plain}}, 10, 12)->token_types, (Ids{1, 1, 0, 0}));
}

TEST(StepStates, AreMarkedAtTheLastEndOfABlockBeforeTheEnd) {
  BlockManager store(16, 4, 4, 8);
  const auto begin = [&](int32_t held, int32_t count) {
    const SequenceId id = store.Open({}, 0)->sequence;
    EXPECT_TRUE(store.Reserve(id, held + count));
    if (held > 0) {
      const auto state = store.BeginStep(id, held);
      EXPECT_TRUE(store.Commit(id, Ids(static_cast<size_t>(held), 1), *state));
    }
    compute::StepGeometry geometry{.query_starts = {10}};
    {
      const auto states = StepStates::Begin(
          store, {.items = {{.sequence = id, .tokens = Ids(static_cast<size_t>(count), 1), .first_position = held}}},
          geometry);
      EXPECT_TRUE(states);
    }
    EXPECT_TRUE(store.Close(id));
    std::string out = fmt::format("{} {}", geometry.states.size(), geometry.states[0].from >= 0 ? "goes on" : "begins");
    for (const auto& mark : geometry.state_marks) out += fmt::format(", mark at row {}", mark.row);
    return out;
  };
  EXPECT_EQ(begin(0, 4), "1 begins");
  EXPECT_EQ(begin(0, 5), "1 begins, mark at row 13");
  EXPECT_EQ(begin(0, 9), "1 begins, mark at row 17");
  EXPECT_EQ(begin(3, 1), "1 goes on");
  EXPECT_EQ(begin(3, 2), "1 goes on, mark at row 10");
  EXPECT_EQ(begin(4, 4), "1 goes on");
  EXPECT_EQ(begin(4, 5), "1 goes on, mark at row 13");
  BlockManager without(16, 4, 4);
  compute::StepGeometry geometry;
  EXPECT_TRUE(StepStates::Begin(without, {.items = {{}}}, geometry));
  EXPECT_TRUE(geometry.states.empty());
}

TEST(HiddenOutputs, AreSeparatedAndFilledInOrder) {
  const OutputSpec logits{}, hidden{.kind = OutputSpec::Kind::kHidden};
  const UnifiedBatch batch{
      .items = {{.outputs = {hidden, logits}}, {.outputs = {}}, {.outputs = {logits, hidden, hidden}}}};
  const OutputRows rows = SplitOutputs(batch);
  EXPECT_EQ(rows.logits, (Ids{1, 2}));
  EXPECT_EQ(rows.hidden, (Ids{0, 3, 4}));
  StepResult result{.items = {std::vector<OutputResult>(2), {}, std::vector<OutputResult>(3)}};
  FillHidden(batch, std::vector<float>{1, 2, 3, 4, 5, 6}, 2, &result);
  EXPECT_EQ(result.items[0][0].hidden, (std::vector<float>{1, 2}));
  EXPECT_TRUE(result.items[0][1].hidden.empty());
  EXPECT_EQ(result.items[2][1].hidden, (std::vector<float>{3, 4}));
  EXPECT_EQ(result.items[2][2].hidden, (std::vector<float>{5, 6}));
  EXPECT_FALSE(CheckHiddenOnly(batch));
  EXPECT_TRUE(CheckHiddenOnly({.items = {{.outputs = {hidden}}}}));
}

}  // namespace
}  // namespace inferflux::engine
