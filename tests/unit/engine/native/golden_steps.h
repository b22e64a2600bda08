// Steps of an engine on a golden text: whatever sequences a step has, and wherever they begin, each row must have the
// logits that transformers has for the whole text.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "engine/native/native_backends.h"
#include "model/families/family.h"
#include "model/families/golden.h"

namespace inferflux::engine {

struct GoldenCase {
  NativeBackend backend;
  std::string model;
};

// Every backend of this build with every one of these models.
inline std::vector<GoldenCase> GoldenCases(const std::vector<std::string>& models) {
  std::vector<GoldenCase> out;
  for (const NativeBackend& backend : NativeBackends()) {
    for (const std::string& model : models) out.push_back({backend, model});
  }
  return out;
}

inline std::string NameOfCase(const ::testing::TestParamInfo<GoldenCase>& info) {
  return std::string(info.param.backend.name) + "_" + info.param.model;
}

class GoldenSteps : public ::testing::TestWithParam<GoldenCase> {
 protected:
  // `concept_name`: what the models need; a backend without it must refuse them by that name, and the test ends there.
  explicit GoldenSteps(std::string concept_name) : concept_(std::move(concept_name)) {}

  void SetUp() override {
    const auto source = model::ModelSource::Open(model::testing::ModelPath(GetParam().model + ".gguf"));
    ASSERT_TRUE(source) << source.error().message;
    EngineOptions options{.max_sequences = 8, .block_size = 16, .kv_bytes = 4 << 20, .kv_dtype = "fp32"};
    options.device.pool = &pool_;
    auto made = GetParam().backend.create(*model::ReadModelConfig(**source), *source, options);
    if (!made && made.error().message.ends_with("needs " + concept_ + ", which the " +
                                                std::string(GetParam().backend.name) + " backend does not have")) {
      GTEST_SKIP() << "this backend refuses the model by the name of what it lacks";
    }
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

  // Three sequences whose pieces share steps in changing order.
  void RunThreeSequences() {
    const SequenceId a = Empty(1), b = Empty(2), c = Empty(3);
    Run({Piece(a, 0, 20), Piece(b, 0, 1), Piece(c, 0, 33)});
    Run({Piece(c, 33, 34), Piece(a, 20, 50), Piece(b, 1, 3)});
    Run({Piece(b, 3, 40), Piece(c, 34, 56), Piece(a, 50, 51)});
  }

  const std::string concept_;
  ThreadPool pool_{1};
  std::unique_ptr<Engine> engine_;
  model::testing::Golden golden_;
};

}  // namespace inferflux::engine
