// Models with recurrent layers on every compute backend of this build: several sequences in one step, forks, cached
// prefixes and saved states give the logits that each sequence has alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "engine/native/native_backends.h"
#include "model/families/family.h"
#include "model/families/golden.h"

namespace inferflux::engine {
namespace {

struct RecurrentCase {
  NativeBackend backend;
  std::string model;
};

class RecurrentBackends : public ::testing::TestWithParam<RecurrentCase> {
 protected:
  void SetUp() override {
    const auto source = model::ModelSource::Open(model::testing::ModelPath(GetParam().model + ".gguf"));
    ASSERT_TRUE(source) << source.error().message;
    EngineOptions options{.max_sequences = 8, .block_size = 16, .kv_bytes = 4 << 20, .kv_dtype = "fp32"};
    options.device.pool = &pool_;
    auto made = GetParam().backend.create(*model::ReadModelConfig(**source), *source, options);
    ASSERT_TRUE(made) << made.error().message;
    engine_ = std::move(*made);
    golden_ = model::testing::ReadGolden(model::testing::ModelPath(GetParam().model + ".golden.gguf"));
  }

  SequenceId Empty(uint64_t salt) { return engine_->Open(std::vector<TokenId>{}, salt)->sequence; }

  // Tokens [first, end) of the golden text, for the sequence.
  BatchItem Piece(SequenceId sequence, int32_t first, int32_t end) {
    EXPECT_TRUE(engine_->Reserve(sequence, end));
    BatchItem item{.sequence = sequence, .first_position = first};
    item.tokens.assign(golden_.tokens.begin() + first, golden_.tokens.begin() + end);
    for (int32_t i = 0; i < end - first; ++i) {
      item.outputs.push_back({.token_index = i, .kind = OutputSpec::Kind::kLogits});
    }
    return item;
  }

  void Run(const std::vector<BatchItem>& items) {
    const auto result = engine_->ExecuteUnifiedBatch({.items = items});
    ASSERT_TRUE(result) << result.error().message;
    for (size_t i = 0; i < items.size(); ++i) {
      for (size_t t = 0; t < items[i].tokens.size(); ++t) {
        const size_t position = static_cast<size_t>(items[i].first_position) + t;
        EXPECT_LT(model::testing::RelativeError(result->items[i][t].logits, golden_.row(position)), 1e-4)
            << "item " << i << ", position " << position;
      }
    }
  }

  ThreadPool pool_{1};
  std::unique_ptr<Engine> engine_;
  model::testing::Golden golden_;
};

TEST_P(RecurrentBackends, SequencesOfOneStepKeepTheirOwnStates) {
  const SequenceId a = Empty(1), b = Empty(2), c = Empty(3);
  Run({Piece(a, 0, 20), Piece(b, 0, 1), Piece(c, 0, 33)});
  Run({Piece(c, 33, 34), Piece(a, 20, 50), Piece(b, 1, 3)});
  Run({Piece(b, 3, 40), Piece(c, 34, 56), Piece(a, 50, 51)});
}

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

std::vector<RecurrentCase> Cases() {
  std::vector<RecurrentCase> cases;
  for (const NativeBackend& backend : NativeBackends()) {
    for (const char* model : {"lfm2", "lfm2_moe", "qwen3_next"}) cases.push_back({backend, model});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Native, RecurrentBackends, ::testing::ValuesIn(Cases()), [](const auto& info) {
  return std::string(info.param.backend.name) + "_" + info.param.model;
});

}  // namespace
}  // namespace inferflux::engine
