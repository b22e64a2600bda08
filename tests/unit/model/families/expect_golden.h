// Runs a model as a user would (the prompt in one step or several, then one token per step) and compares its logits.
#pragma once

#include <algorithm>
#include <string>

#include "model/families/family.h"
#include "model/families/golden.h"
#include "model/model_runner.h"

namespace inferflux::model::testing {

// Compares the model at `path` on one backend with transformers' results from the same weights. Errors above `bound`
// are allowed at `ties` positions: if two experts are nearly equal, a small error makes the router choose the other
// one. `most_rows`: of a step; 0: the whole prompt.
template <class B>
void ExpectGolden(typename B::Context& context, const std::string& path, const std::string& golden_path, double bound,
                  int ties = 0, int32_t most_rows = 0) {
  const auto golden = ReadGolden(golden_path);
  const auto source = ModelSource::Open(path);
  ASSERT_TRUE(source) << source.error().message;
  const auto config = ReadModelConfig(**source, golden.context);
  ASSERT_TRUE(config) << config.error().message;
  constexpr int32_t kBlockSize = 16;
  auto runner = ModelRunner<B, compute::KvFp32>::Load(context, *config, *source, 8, kBlockSize);
  ASSERT_TRUE(runner) << runner.error().message;

  const auto count = static_cast<int32_t>(golden.tokens.size());
  double worst = 0.0;
  int beyond = 0;
  const auto expect = [&](int32_t first, int32_t rows, const std::vector<int32_t>& wanted) {
    const auto hidden = runner->Step(OneSequence(golden.tokens, first, rows, kBlockSize), wanted);
    const auto logits = runner->Read(runner->Logits(hidden));
    for (size_t i = 0; i < wanted.size(); ++i) {
      const std::span<const float> row(logits.data() + static_cast<int64_t>(i) * golden.vocab,
                                       static_cast<size_t>(golden.vocab));
      const double error = RelativeError(row, golden.row(first + wanted[i]));
      worst = std::max(worst, error);
      if (error >= bound && ++beyond > ties)
        ADD_FAILURE() << "position " << first + wanted[i] << ": " << error << " off";
    }
  };
  // The prompt is run twice: all of its rows are requested, then only some.
  const int32_t prompt = golden.prompt_length;
  if (most_rows == 0) expect(0, prompt, {prompt - 1, 0, prompt / 2, prompt / 2 + 1, 0});
  for (int32_t first = 0; first < count;) {
    const int32_t left = std::max(1, prompt - first), rows = most_rows > 0 ? std::min(left, most_rows) : left;
    std::vector<int32_t> all(static_cast<size_t>(rows));
    std::iota(all.begin(), all.end(), 0);
    expect(first, rows, all);
    first += rows;
  }
  ::testing::Test::RecordProperty("worst", std::to_string(worst));
}

}  // namespace inferflux::model::testing
