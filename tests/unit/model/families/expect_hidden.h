// Compares the hidden states of an encoder or a classifier, and what its head makes of them, with transformers':
// several texts in one step (tools/golden_encoders.py).
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "model/families/family.h"
#include "model/families/golden.h"
#include "model/model_runner.h"

namespace inferflux::model::testing {

template <class T>
std::vector<T> Values(const formats::GgufFile& file, const char* name) {
  const auto* tensor = file.FindTensor(name);
  std::vector<T> out(tensor->elements());
  std::memcpy(out.data(), tensor->data.data(), tensor->data.size());
  return out;
}

// All texts as sequences of one step, each with its own blocks.
inline compute::StepGeometry AllTexts(const std::vector<TokenId>& tokens, const std::vector<int32_t>& lengths,
                                      int32_t block_size) {
  compute::StepGeometry step{.tokens = tokens, .query_starts = {0}, .table_starts = {0}, .block_size = block_size};
  for (const int32_t length : lengths) {
    for (int32_t p = 0; p < length; ++p) {
      if (p % block_size == 0) step.block_tables.push_back(static_cast<int32_t>(step.block_tables.size()));
      step.positions.push_back(p);
    }
    step.query_starts.push_back(static_cast<int32_t>(step.positions.size()));
    step.table_starts.push_back(static_cast<int32_t>(step.block_tables.size()));
  }
  return step;
}

// 1 in the second text of each pair; empty if the file has no pairs.
inline std::vector<int32_t> TokenTypes(const formats::GgufFile& golden, const std::vector<int32_t>& lengths) {
  std::vector<int32_t> types;
  if (golden.FindTensor("seconds") == nullptr) return types;
  const auto seconds = Values<int32_t>(golden, "seconds");
  for (size_t i = 0; i < lengths.size(); ++i) {
    for (int32_t p = 0; p < lengths[i]; ++p) types.push_back(seconds[i] > 0 && p >= seconds[i] ? 1 : 0);
  }
  return types;
}

// Pools each text's states as the model does, and compares what the head makes of them.
template <class Runner>
void ExpectHead(Runner& runner, std::span<const float> hidden, const std::vector<int32_t>& lengths,
                std::span<const float> expected, double bound) {
  const ModelConfig& config = runner.config();
  const size_t width = static_cast<size_t>(config.hidden), outputs = expected.size() / lengths.size();
  size_t first = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto length = static_cast<size_t>(lengths[i]);
    std::vector<float> pooled(width);
    for (size_t p = 0; p < length; ++p) {
      const bool counts = config.pooling.type == Pooling::kMean || (config.pooling.type == Pooling::kCls && p == 0) ||
                          (config.pooling.type == Pooling::kLast && p + 1 == length);
      const float share = config.pooling.type == Pooling::kMean ? 1.0f / static_cast<float>(length) : 1.0f;
      for (size_t d = 0; counts && d < width; ++d) pooled[d] += share * hidden[(first + p) * width + d];
    }
    first += length;
    std::vector<float> made = runner.ApplyHead(pooled);
    ASSERT_EQ(made.size(), outputs);
    if (config.pooling.normalise) {
      const double norm = std::sqrt(std::inner_product(made.begin(), made.end(), made.begin(), 0.0));
      for (float& value : made) value = static_cast<float>(value / norm);
    }
    const auto wanted = expected.subspan(i * outputs, outputs);
    // A score may be near 0, so its error is measured against the size of scores.
    for (size_t o = 0; o < outputs; ++o) EXPECT_NEAR(made[o], wanted[o], bound * 2) << "text " << i;
  }
}

template <class B>
void ExpectHidden(typename B::Context& context, const std::string& model, const std::string& name, double bound) {
  const auto golden = formats::GgufFile::Open(ModelPath(name + ".golden.gguf"));
  ASSERT_TRUE(golden) << golden.error().message;
  const auto source = model::ModelSource::Open(model.starts_with('/') ? model : ModelPath(model));
  ASSERT_TRUE(source) << source.error().message;
  const auto config = model::ReadModelConfig(**source);
  ASSERT_TRUE(config) << config.error().message;
  const bool scores = (*golden)->FindTensor("scores") != nullptr;
  EXPECT_EQ(config->pooling.scores(), scores);
  if (!scores) {
    EXPECT_EQ(config->pooling.type, model::Pooling::kMean);
  }
  auto runner = model::ModelRunner<B, compute::KvFp32>::Load(context, *config, *source, 24, 16);
  ASSERT_TRUE(runner) << runner.error().message;

  const auto tokens = Values<TokenId>(**golden, "tokens");
  std::vector<int32_t> rows(tokens.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto lengths = Values<int32_t>(**golden, "lengths");
  const auto hidden = runner->Read(runner->Step(AllTexts(tokens, lengths, 16), rows, TokenTypes(**golden, lengths)));
  const auto expected = Values<float>(**golden, "hidden");
  ASSERT_EQ(hidden.size(), expected.size());
  const size_t width = static_cast<size_t>(config->hidden);
  for (size_t r = 0; r < tokens.size(); ++r) {
    EXPECT_LT(RelativeError(std::span(hidden).subspan(r * width, width), std::span(expected).subspan(r * width, width)),
              bound)
        << "token " << r;
  }
  if (!config->head.empty()) {
    ExpectHead(*runner, hidden, lengths, Values<float>(**golden, scores ? "scores" : "embedding"), bound);
  }
}

}  // namespace inferflux::model::testing
