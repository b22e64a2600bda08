// Models whose KV are latents, on every compute backend of this build: several sequences in one step, forks, cached
// prefixes, cut and saved sequences give the logits that transformers has for the whole text.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/native/golden_steps.h"

namespace inferflux::engine {
namespace {

class LatentBackends : public GoldenSteps {
 protected:
  LatentBackends() : GoldenSteps("LatentKv") {}
};

TEST_P(LatentBackends, SequencesOfOneStepReadTheirOwnLatents) { RunThreeSequences(); }

TEST_P(LatentBackends, ForksCachedPrefixesCutsAndSavedSequencesGoOn) {
  const SequenceId first = Empty(1);
  Run({Piece(first, 0, 37)});
  const SequenceId forked = *engine_->Fork(first);
  Run({Piece(first, 37, 45)});
  Run({Piece(forked, 37, 50)});
  ASSERT_TRUE(engine_->Truncate(forked, 21));
  Run({Piece(forked, 21, 40)});
  const auto match = engine_->Open(golden_.tokens, 1);
  ASSERT_TRUE(match);
  ASSERT_GE(match->cached_tokens, 32);
  ASSERT_TRUE(engine_->Truncate(match->sequence, 30));
  Run({Piece(match->sequence, 30, 56)});
  if (!engine_->info().capabilities.kv_save_restore) return;
  const auto saved = engine_->Save(first);
  ASSERT_TRUE(saved) << saved.error().message;
  ASSERT_TRUE(engine_->Close(first));
  const auto restored = engine_->Restore(std::span(golden_.tokens).first(45), 9, *saved);
  ASSERT_TRUE(restored) << restored.error().message;
  Run({Piece(*restored, 45, 56)});
}

INSTANTIATE_TEST_SUITE_P(
    Native, LatentBackends,
    ::testing::ValuesIn(GoldenCases({"deepseek_v2", "deepseek_v3", "deepseek_v32", "glm_moe_dsa"})), NameOfCase);

}  // namespace
}  // namespace inferflux::engine
