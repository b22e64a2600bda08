// Models with recurrent layers on every compute backend of this build: several sequences in one step, forks, cached
// prefixes and saved states give the logits that each sequence has alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/native/golden_steps.h"

namespace inferflux::engine {
namespace {

class RecurrentBackends : public GoldenSteps {
 protected:
  RecurrentBackends() : GoldenSteps("RecurrentStates") {}
};

TEST_P(RecurrentBackends, SequencesOfOneStepKeepTheirOwnStates) { RunThreeSequences(); }

TEST_P(RecurrentBackends, AForkACachedPrefixAndASavedStateGoOnAsTheFirstDoes) {
  const SequenceId first = Empty(1);
  Run({Piece(first, 0, 37)});
  const SequenceId forked = *engine_->Fork(first);
  Run({Piece(first, 37, 45)});
  Run({Piece(forked, 37, 56)});
  const auto match = engine_->Open(golden_.tokens, 1);
  ASSERT_TRUE(match);
  ASSERT_EQ(match->cached_tokens, 48) << "the last end of a block inside the fork's step";
  Run({Piece(match->sequence, 48, 56)});
  if (!engine_->info().capabilities.kv_save_restore) return;
  const auto saved = engine_->Save(first);
  ASSERT_TRUE(saved) << saved.error().message;
  ASSERT_TRUE(engine_->Close(first));
  const auto restored = engine_->Restore(std::span(golden_.tokens).first(45), 9, *saved);
  ASSERT_TRUE(restored) << restored.error().message;
  Run({Piece(*restored, 45, 56)});
}

INSTANTIATE_TEST_SUITE_P(Native, RecurrentBackends,
                         ::testing::ValuesIn(GoldenCases({"lfm2", "lfm2_moe", "qwen3_next", "qwen3_5", "qwen3_5_moe",
                                                          "mamba2", "nemotron_h", "nemotron_h_moe", "granite_hybrid",
                                                          "granite_hybrid_moe", "falcon_h1"})),
                         NameOfCase);

}  // namespace
}  // namespace inferflux::engine
