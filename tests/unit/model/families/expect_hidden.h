// Compares an encoder's hidden states with transformers': several texts in one step (tools/golden_encoders.py).
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

template <class B>
void ExpectHidden(typename B::Context& context, const std::string& model, const std::string& name, double bound) {
  const auto golden = formats::GgufFile::Open(ModelPath(name + ".golden.gguf"));
  ASSERT_TRUE(golden) << golden.error().message;
  const auto source = model::ModelSource::Open(ModelPath(model));
  ASSERT_TRUE(source) << source.error().message;
  const auto config = model::ReadModelConfig(**source);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->pooling.type, model::Pooling::kMean);
  auto runner = model::ModelRunner<B, compute::KvFp32>::Load(context, *config, *source, 8, 16);
  ASSERT_TRUE(runner) << runner.error().message;

  const auto tokens = Values<TokenId>(**golden, "tokens");
  std::vector<int32_t> rows(tokens.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto hidden = runner->Read(runner->Step(AllTexts(tokens, Values<int32_t>(**golden, "lengths"), 16), rows));
  const auto expected = Values<float>(**golden, "hidden");
  ASSERT_EQ(hidden.size(), expected.size());
  const size_t width = static_cast<size_t>(config->hidden);
  for (size_t r = 0; r < tokens.size(); ++r) {
    EXPECT_LT(RelativeError(std::span(hidden).subspan(r * width, width), std::span(expected).subspan(r * width, width)),
              bound)
        << "token " << r;
  }
}

}  // namespace inferflux::model::testing
