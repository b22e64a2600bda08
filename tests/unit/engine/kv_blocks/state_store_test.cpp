#include "engine/kv_blocks/state_store.h"

#include <gtest/gtest.h>

#include <optional>

namespace inferflux::engine {
namespace {

// A checkpoint of this block that no sequence holds.
int32_t Checkpoint(StateStore& store, int32_t block) {
  const int32_t slot = store.Take().value();
  store.Keep(block, slot);
  store.Release(slot);
  return slot;
}

TEST(StateStore, TheCheckpointThatWasUsedLongestAgoGivesWay) {
  StateStore store(3);
  for (int32_t block = 0; block < 3; ++block) Checkpoint(store, block);
  EXPECT_EQ(store.free(), 0);
  ASSERT_TRUE(store.Find(0));  // so that block 1 is the oldest
  ASSERT_TRUE(store.Take());
  EXPECT_TRUE(store.Has(0));
  EXPECT_FALSE(store.Has(1));
  EXPECT_TRUE(store.Has(2));
  EXPECT_EQ(store.checkpoints(), 2);
}

TEST(StateStore, ACheckpointThatASequenceHoldsTooGivesNoRoomAndStays) {
  StateStore store(2);
  const int32_t shared = Checkpoint(store, 0);
  Checkpoint(store, 1);
  store.Share(shared);  // a sequence goes on from it
  ASSERT_TRUE(store.Take()) << "the other one gives way, although it was used later";
  EXPECT_TRUE(store.Has(0));
  EXPECT_FALSE(store.Has(1));
  EXPECT_EQ(store.Take(), std::nullopt) << "every slot is held";
  EXPECT_TRUE(store.Has(0));
  store.Release(shared);
  EXPECT_EQ(store.Take(), shared);
  EXPECT_FALSE(store.Has(0));
}

TEST(StateStore, ABlockKeepsItsFirstCheckpointUntilItIsDropped) {
  StateStore store(2);
  EXPECT_FALSE(store.empty());
  EXPECT_TRUE(StateStore(0).empty());
  const int32_t first = Checkpoint(store, 7);
  const int32_t second = store.Take().value();
  store.Keep(7, second);
  EXPECT_EQ(store.Find(7), first);
  EXPECT_EQ(store.references(second), 1) << "nothing more holds it";
  store.Drop(7);
  EXPECT_EQ(store.Find(7), std::nullopt);
  EXPECT_EQ(store.free(), 1);
  store.Drop(7);  // nothing
  EXPECT_EQ(store.free(), 1);
}

}  // namespace
}  // namespace inferflux::engine
