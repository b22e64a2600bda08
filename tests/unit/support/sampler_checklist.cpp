#include "support/sampler_checklist.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "support/sampling_reference.h"

namespace inferflux::testing {
namespace {

using engine::Engine;
using engine::OutputSpec;
using engine::SamplingParams;

constexpr int kDraws = 4000;
constexpr int kDrawsPerStep = 250;  // each is a row of logits
constexpr double kFarthest = 4.5;   // standard deviations

// A sequence whose last token can be computed again and again, so that its next token can be drawn again and again.
class Position {
 public:
  Position(Engine& engine, std::vector<TokenId> text) : engine_(engine), text_(std::move(text)) {
    auto opened = engine_.Open({}, 1);
    EXPECT_TRUE(opened) << opened.error().message;
    sequence_ = opened->sequence;
    EXPECT_TRUE(engine_.Reserve(sequence_, static_cast<int32_t>(text_.size())));
    Run({});
  }
  ~Position() { EXPECT_TRUE(engine_.Close(sequence_)); }

  std::vector<engine::OutputResult> Run(std::vector<OutputSpec> outputs) {
    if (length_ > 0) {
      EXPECT_TRUE(engine_.Truncate(sequence_, --length_));
    }
    EXPECT_TRUE(engine_.Reserve(sequence_, static_cast<int32_t>(text_.size())));
    engine::BatchItem item{.sequence = sequence_, .first_position = length_};
    item.tokens.assign(text_.begin() + length_, text_.end());
    for (auto& output : outputs) output.token_index = static_cast<int32_t>(item.tokens.size()) - 1;
    item.outputs = std::move(outputs);
    length_ = static_cast<int32_t>(text_.size());
    auto result = engine_.ExecuteUnifiedBatch({.items = {std::move(item)}});
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(result->items[0]) : std::vector<engine::OutputResult>();
  }

  const std::vector<TokenId>& text() const { return text_; }

 private:
  Engine& engine_;
  std::vector<TokenId> text_;
  engine::SequenceId sequence_;
  int32_t length_ = 0;
};

void CheckDraws(Position& position, const std::vector<float>& logits, const SamplingParams& params,
                const std::string& name) {
  SamplingSetting setting{.params = params, .history = position.text(), .prompt_tokens = 6};
  if (params.mirostat) setting.mirostat_mu = 3.0f;
  std::vector<int> seen(logits.size(), 0);
  for (int draw = 0; draw < kDraws; draw += kDrawsPerStep) {
    std::vector<OutputSpec> outputs(kDrawsPerStep);
    for (int i = 0; i < kDrawsPerStep; ++i) {
      OutputSpec& output = outputs[static_cast<size_t>(i)];
      output.sampling = params;
      output.prompt_tokens = setting.prompt_tokens;
      output.draw = static_cast<uint64_t>(draw + i);
      output.mirostat_mu = setting.mirostat_mu;
    }
    for (const auto& result : position.Run(std::move(outputs))) {
      ASSERT_GE(result.token, 0) << name;
      ++seen[static_cast<size_t>(result.token)];
    }
  }
  EXPECT_LT(DrawDeviation(SamplingReference(logits, setting), seen), kFarthest) << name;
}

void CheckGreedyAndLogprobs(Position& position, const std::vector<float>& logits) {
  const auto result = position.Run({{.sampling = {.temperature = 0.0f}, .top_logprobs = 5}});
  ASSERT_EQ(result.size(), 1u);
  const auto best = std::ranges::max_element(logits);
  EXPECT_EQ(result[0].token, best - logits.begin()) << "greedy: the highest logit, the lowest id of a tie";
  double total = 0.0;
  for (const float logit : logits) total += std::exp(double{logit} - *best);
  EXPECT_NEAR(result[0].chosen.logprob, -std::log(total), 1e-4);
  ASSERT_EQ(result[0].top.size(), 5u);
  for (const auto& entry : result[0].top) {
    EXPECT_NEAR(entry.logprob, logits[static_cast<size_t>(entry.id)] - *best - std::log(total), 1e-4);
  }
  EXPECT_EQ(result[0].top[0].id, result[0].token);
}

// What a prompt's tokens are worth: each against the logits before it.
void CheckPromptLogprobs(Engine& engine, const std::vector<TokenId>& text) {
  std::vector<std::vector<engine::OutputResult>> results;
  for (const auto kind : {OutputSpec::Kind::kLogits, OutputSpec::Kind::kLogprobs}) {
    auto opened = engine.Open({}, 2);
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_TRUE(engine.Reserve(opened->sequence, static_cast<int32_t>(text.size())));
    engine::BatchItem item{.sequence = opened->sequence, .tokens = text};
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      item.outputs.push_back(
          {.token_index = static_cast<int32_t>(i), .kind = kind, .target = text[i + 1], .top_logprobs = 3});
    }
    auto result = engine.ExecuteUnifiedBatch({.items = {item}});
    ASSERT_TRUE(result) << result.error().message;
    results.push_back(std::move(result->items[0]));
    ASSERT_TRUE(engine.Close(opened->sequence));
  }
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const std::vector<float>& logits = results[0][i].logits;
    const float best = *std::ranges::max_element(logits);
    double total = 0.0;
    for (const float logit : logits) total += std::exp(double{logit} - best);
    const auto& scored = results[1][i];
    EXPECT_EQ(scored.chosen.id, text[i + 1]);
    EXPECT_NEAR(scored.chosen.logprob, logits[static_cast<size_t>(text[i + 1])] - best - std::log(total), 1e-4);
    ASSERT_EQ(scored.top.size(), 3u);
    EXPECT_NEAR(scored.top[0].logprob, -std::log(total), 1e-4);
  }
}

}  // namespace

void CheckSampler(Engine& engine) {
  const auto vocab = static_cast<uint32_t>(engine.info().vocab_size);
  std::mt19937 random(7);
  std::vector<TokenId> text;
  for (int i = 0; i < 8; ++i) text.push_back(static_cast<TokenId>(random() % vocab));
  for (int i = 0; i < 12; ++i) text.push_back(text[static_cast<size_t>(i % 6)]);  // something to repeat
  Position position(engine, text);
  const auto raw = position.Run({{.kind = OutputSpec::Kind::kLogits}});
  ASSERT_EQ(raw.size(), 1u);
  const std::vector<float>& logits = raw[0].logits;
  ASSERT_EQ(logits.size(), vocab);
  CheckGreedyAndLogprobs(position, logits);
  CheckPromptLogprobs(engine, text);

  CheckDraws(position, logits, {.seed = 1}, "plain");
  CheckDraws(position, logits, {.temperature = 0.5f, .seed = 2}, "temperature");
  CheckDraws(position, logits, {.top_k = 7, .seed = 3}, "top_k");
  CheckDraws(position, logits, {.top_p = 0.6f, .seed = 4}, "top_p");
  CheckDraws(position, logits, {.min_p = 0.2f, .seed = 5}, "min_p");
  CheckDraws(position, logits, {.repetition_penalty = 1.5f, .seed = 6}, "repetition_penalty");
  CheckDraws(position, logits, {.presence_penalty = 1.5f, .frequency_penalty = 0.5f, .seed = 7}, "presence, frequency");
  CheckDraws(position, logits, {.logit_bias = {{text[0], 3.0f}, {text[1], -3.0f}}, .seed = 8}, "logit_bias");
  CheckDraws(position, logits, {.top_n_sigma = 1.5f, .seed = 9}, "top_n_sigma");
  CheckDraws(position, logits, {.typical_p = 0.4f, .seed = 10}, "typical_p");
  CheckDraws(position, logits, {.xtc_probability = 0.5f, .xtc_threshold = 0.01f, .seed = 11}, "xtc");
  CheckDraws(position, logits, {.dry_multiplier = 2.0f, .seed = 12}, "dry");
  CheckDraws(position, logits, {.dry_multiplier = 2.0f, .dry_breakers = {text[3]}, .seed = 13}, "dry_breakers");
  CheckDraws(position, logits, {.mirostat = true, .mirostat_tau = 3.0f, .seed = 14}, "mirostat");
}

}  // namespace inferflux::testing
