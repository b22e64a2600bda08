// The checks of chosen tokens and of log probabilities.
#include <gtest/gtest.h>

#include <cmath>

#include "parity/check_list.h"
#include "parity/compare.h"
#include "parity/toy_engine.h"

namespace inferflux::parity {
namespace {

using engine::OutputResult;

struct Changed : ToyEngine {
  explicit Changed(std::function<void(size_t, size_t, OutputResult&)> by) : by(std::move(by)) {}
  void Change(size_t length, size_t k, OutputResult& output) override { by(length, k, output); }
  std::function<void(size_t, size_t, OutputResult&)> by;
};

TEST(SamplingChecks, TryEachKindOfSetting) {
  ToyEngine engine;
  EXPECT_EQ(Said(CheckSamplers(engine, ToyOracle(), FloatBounds())), "8 settings");
  std::string asked;
  for (const auto& spec : engine.last.items.at(0).outputs) {
    const auto& s = spec.sampling;
    asked += fmt::format("after {}, draw {} behind {}: t {} k {} p {} min {} seed {} rep {} pres {} freq {}",
                         spec.token_index, spec.draw, spec.prompt_tokens, s.temperature, s.top_k, s.top_p, s.min_p,
                         s.seed, s.repetition_penalty, s.presence_penalty, s.frequency_penalty);
    for (const auto& [token, bias] : s.logit_bias) asked += fmt::format(" bias {} {}", token, bias);
    asked += '\n';
  }
  EXPECT_EQ(asked,
            "after 47, draw 0 behind 0: t 1 k 0 p 1 min 0 seed 0 rep 1 pres 0 freq 0\n"
            "after 47, draw 1 behind 24: t 0 k 0 p 1 min 0 seed 0 rep 1 pres 0 freq 0\n"
            "after 47, draw 2 behind 24: t 1 k 0 p 1 min 0 seed 1 rep 1 pres 0 freq 0\n"
            "after 47, draw 3 behind 24: t 0.7 k 5 p 1 min 0 seed 2 rep 1 pres 0 freq 0\n"
            "after 47, draw 4 behind 24: t 1.3 k 0 p 0.8 min 0 seed 3 rep 1 pres 0 freq 0\n"
            "after 47, draw 5 behind 24: t 1 k 0 p 1 min 0.1 seed 4 rep 1 pres 0 freq 0\n"
            "after 47, draw 6 behind 24: t 0 k 0 p 1 min 0 seed 0 rep 1.5 pres 0 freq 0\n"
            "after 47, draw 7 behind 24: t 0 k 0 p 1 min 0 seed 0 rep 1 pres 2 freq 1\n"
            "after 47, draw 8 behind 24: t 0 k 0 p 1 min 0 seed 0 rep 1 pres 0 freq 0 bias 226 100\n");
}

TEST(SamplingChecks, EachSettingIsCompared) {
  std::vector<TokenId> right;
  Changed honest([&](size_t, size_t k, OutputResult& output) {
    if (k > 0) right.push_back(output.token);
  });
  EXPECT_EQ(Said(CheckSamplers(honest, ToyOracle(), FloatBounds())), "8 settings");
  ASSERT_EQ(right.size(), 8u);
  for (size_t wrong = 0; wrong < 8; ++wrong) {
    Changed engine([&](size_t, size_t k, OutputResult& output) {
      if (k == wrong + 1) output.token = 299;
    });
    EXPECT_EQ(Said(CheckSamplers(engine, ToyOracle(), FloatBounds())),
              fmt::format("error: setting {} chose token 299, and its logits give {}", wrong, right[wrong]));
  }
}

std::string Logprobs(std::function<void(size_t, size_t, OutputResult&)> by, const Bounds& bounds = FloatBounds()) {
  Changed engine(std::move(by));
  return Said(CheckLogprobs(engine, ToyOracle(), bounds));
}

TEST(SamplingChecks, LogprobsAreComparedAtEverySixthPosition) {
  ToyEngine engine;
  EXPECT_EQ(Said(CheckLogprobs(engine, ToyOracle(), FloatBounds())).find("5 of 8 positions, at most "), 0u);
  std::vector<int32_t> positions;
  for (const auto& spec : engine.last.items.at(0).outputs) {
    positions.push_back(spec.token_index);
    EXPECT_EQ(spec.top_logprobs, 5);
    EXPECT_EQ(spec.sampling.temperature, 0.0f);
  }
  EXPECT_EQ(positions, (std::vector{0, 6, 12, 18, 24, 30, 36, 42}));
}

TEST(SamplingChecks, ALogprobThatIsFarOffIsNamed) {
  const auto off_by = [](float apart) {
    return [apart](size_t, size_t k, OutputResult& output) {
      if (k == 2 || k == 5) output.top[3].logprob += k == 2 ? apart : -0.125f;
    };
  };
  EXPECT_EQ(Logprobs(off_by(0.2f)), "5 of 8 positions, at most 2.0e-01 apart");
  EXPECT_EQ(Logprobs(off_by(-0.2f)), "5 of 8 positions, at most 2.0e-01 apart");
  TokenId other = 0;
  float said = 0;
  const auto apart = [&](float by) {
    return Logprobs([&other, &said, by](size_t, size_t k, OutputResult& output) {
      if (k != 2) return;
      output.top[3].logprob += by;
      other = output.top[3].id;
      said = output.top[3].logprob;
    });
  };
  const auto named = [&] {
    return fmt::format("error: at position 12 token {} has {:.4f}, and the oracle gives {:.4f}", other, said,
                       LogSoftmax(ToyOracle().logits[12])[static_cast<size_t>(other)]);
  };
  for (const float by : {0.3f, -0.3f, std::nanf("")}) {
    const std::string seen = apart(by);
    EXPECT_EQ(seen, named());
  }
}

TEST(SamplingChecks, TheChosenTokenIsTheFirstOfFive) {
  const std::string four = "error: at position 6: 4 top tokens of 5, or the chosen one is not the first";
  const std::string five = "error: at position 6: 5 top tokens of 5, or the chosen one is not the first";
  EXPECT_EQ(Logprobs([](size_t, size_t k, OutputResult& output) {
              if (k == 1) output.top.pop_back();
            }),
            four);
  EXPECT_EQ(Logprobs([](size_t, size_t k, OutputResult& output) {
              if (k == 1) std::swap(output.top[0], output.top[1]);
            }),
            five);
  EXPECT_EQ(Logprobs([](size_t, size_t k, OutputResult& output) {
              if (k == 1) output.chosen.id = output.top[1].id;
            }),
            five);
}

TEST(SamplingChecks, GreedyTextsEndWhereTheyDiffer) {
  size_t tokens = 0;
  for (const Answer& answer : ToyOracle().answers) tokens += answer.tokens.size();
  ToyEngine right;
  EXPECT_EQ(Said(CheckGreedy(right, ToyOracle(), FloatBounds())), fmt::format("{} positions, 0 near ties", tokens));
  std::string calls;
  for (const Answer& answer : ToyOracle().answers) {
    calls += fmt::format("open 0 {} ", answer.prompt.size());
    for (size_t i = 1; i < answer.tokens.size(); ++i) calls += "1 ";
    calls += "close ";
  }
  EXPECT_EQ(right.calls, calls);

  const Oracle first{.answers = {ToyOracle().answers[0]}};
  const Answer& answer = first.answers[0];
  Changed wrong([&](size_t length, size_t, OutputResult& output) {
    if (length == answer.prompt.size() + 2) output.token = 299;
  });
  EXPECT_EQ(Said(CheckGreedy(wrong, first, FloatBounds())),
            fmt::format("error: after 2 tokens of an answer comes 299, not {}, which is ahead by {:.3f} in logits",
                        answer.tokens[2], answer.gaps[2]));
  EXPECT_EQ(wrong.calls, fmt::format("open 0 {} 1 1 close ", answer.prompt.size()));
}

}  // namespace
}  // namespace inferflux::parity
