// Which tokens each filter keeps, and what is drawn, at the edges of each number.
#include "engine/sampling/candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "engine/sampling/dry_penalty.h"
#include "engine/sampling/logprobs.h"
#include "engine/sampling/penalties.h"
#include "engine/sampling/sampler.h"
#include "engine/sampling/softmax.h"

namespace inferflux::engine {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
using Ids = std::vector<TokenId>;
using Row = std::vector<float>;

Ids IdsOf(std::span<const Candidate> candidates) {
  Ids out;
  for (const Candidate& each : candidates) out.push_back(each.id);
  return out;
}
Ids Sorted(Ids ids) {
  std::ranges::sort(ids);
  return ids;
}

// Weights that are probabilities, and their logits.
Candidates Of(const Row& weights, float least = 0) {
  Row logits;
  double total = 0;
  for (const float weight : weights) {
    logits.push_back(std::log(weight));
    total += weight;
  }
  Candidates out;
  out.GatherAll(logits, weights, least, total);
  return out;
}

TEST(SelectTop, GivesTheHighestInOrder) {
  const Row logits{1, 5, 3, 5, -kInfinite, 4, 2, 5};
  const auto top = [&](size_t k) {
    std::vector<Candidate> out;
    SelectTop(logits, k, out);
    return IdsOf(out);
  };
  EXPECT_EQ(top(1), (Ids{1}));
  EXPECT_EQ(top(2), (Ids{1, 3}));
  EXPECT_EQ(top(3), (Ids{1, 3, 7}));
  EXPECT_EQ(top(4), (Ids{1, 3, 7, 5}));
  EXPECT_EQ(top(6), (Ids{1, 3, 7, 5, 2, 6}));
  EXPECT_EQ(top(7), (Ids{1, 3, 7, 5, 2, 6, 0}));
  EXPECT_EQ(top(100), (Ids{1, 3, 7, 5, 2, 6, 0})) << "one of -infinity is none";
}

TEST(Candidates, AreThoseWithWeight) {
  EXPECT_EQ(IdsOf(Of({0.5f, 0, 0.25f, 0.25f}).all()), (Ids{0, 2, 3}));
  EXPECT_EQ(IdsOf(Of({0.5f, 0, 0.25f, 0.125f}, 0.25f).all()), (Ids{0, 2}));
  Candidates top;
  top.GatherTop(Row{1, 3, 2, 0}, Row{0.1f, 0.6f, 0.3f, 0}, 3);
  EXPECT_EQ(IdsOf(top.all()), (Ids{1, 2, 0}));
  EXPECT_EQ(top.all()[1].weight, 0.3f);
  top.GatherTop(Row{1, 3, 2, 0}, Row{0, 0.6f, 0.3f, 0}, 4);
  EXPECT_EQ(IdsOf(top.all()), (Ids{1, 2}));
  top.KeepTopP(0.66);
  EXPECT_EQ(IdsOf(top.all()), (Ids{1})) << "of the total of those that were kept: 0.6 of 0.9";
}

TEST(Candidates, TopPKeepsTheSmallestPrefixThatReachesIt) {
  const auto kept = [](double p) {
    Candidates candidates = Of({0.125f, 0.5f, 0.125f, 0.25f});
    candidates.KeepTopP(p);
    return IdsOf(candidates.all());
  };
  EXPECT_EQ(kept(0.0), (Ids{1}));
  EXPECT_EQ(kept(0.5), (Ids{1}));
  EXPECT_EQ(kept(0.51), (Ids{1, 3}));
  EXPECT_EQ(kept(0.75), (Ids{1, 3}));
  EXPECT_EQ(kept(0.76), (Ids{1, 3, 0}));
  EXPECT_EQ(kept(1.0), (Ids{1, 3, 0, 2}));
  // More than the first 64 and the first 256 that are sorted.
  Row many(600);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>((i * 7) % 600 + 1);
  double total = 0;
  for (const float weight : many) total += weight;
  for (const size_t count : {1u, 63u, 64u, 65u, 255u, 256u, 257u, 599u, 600u}) {
    double reached = 0;
    for (size_t i = 0; i < count; ++i) reached += 600.0 - static_cast<double>(i);
    Candidates candidates = Of(many);
    candidates.KeepTopP(reached / total - 1e-9);
    ASSERT_EQ(candidates.all().size(), count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(candidates.all()[i].weight, 600.0f - static_cast<float>(i));
  }
}

TEST(Candidates, MinPComparesWithTheHeaviest) {
  const auto kept = [](float ratio) {
    Candidates candidates = Of({0.125f, 0.5f, 0.125f, 0.25f});
    candidates.KeepMinP(ratio);
    return IdsOf(candidates.all());
  };
  EXPECT_EQ(kept(0.25f), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(kept(0.26f), (Ids{1, 3}));
  EXPECT_EQ(kept(0.5f), (Ids{1, 3}));
  EXPECT_EQ(kept(1.0f), (Ids{1}));
  Candidates sorted = Of({0.125f, 0.5f, 0.125f, 0.25f});
  sorted.KeepTopP(1.0);
  sorted.KeepMinP(0.26f);
  sorted.DropTopChoices(0.3);
  EXPECT_EQ(IdsOf(sorted.all()), (Ids{3})) << "they stay in order";
  Candidates unsorted = Of({0.25f, 0.5f, 0.125f, 0.125f});
  unsorted.KeepMinP(0.4f);
  unsorted.KeepTopP(0.5);
  EXPECT_EQ(IdsOf(unsorted.all()), (Ids{1}));
}

TEST(Candidates, TypicalTokensHaveTheSurpriseOfTheEntropy) {
  // Entropy 1.213 nats; surprises 0.693, 1.386, 2.079, 2.079: the order is 1 (0.173), 0 (0.520), 2 and 3 (0.866).
  const auto kept = [](double p) {
    Candidates candidates = Of({0.5f, 0.25f, 0.125f, 0.125f});
    candidates.KeepTypical(p);
    return IdsOf(candidates.all());
  };
  EXPECT_EQ(kept(0.0), (Ids{1}));
  EXPECT_EQ(kept(0.25), (Ids{1}));
  EXPECT_EQ(kept(0.26), (Ids{1, 0}));
  EXPECT_EQ(kept(0.75), (Ids{1, 0}));
  EXPECT_EQ(kept(0.76), (Ids{1, 0, 2}));
  EXPECT_EQ(kept(1.0), (Ids{1, 0, 2, 3}));
  Candidates then = Of({0.5f, 0.25f, 0.125f, 0.125f});
  then.KeepTypical(0.75);
  then.KeepTopP(0.66);
  EXPECT_EQ(IdsOf(then.all()), (Ids{0})) << "0.5 of 0.75";
  Row many(3000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>((i * 7) % 3000 + 1);
  Candidates all = Of(many);
  all.KeepTypical(2.0);
  EXPECT_EQ(all.all().size(), 3000u);
}

TEST(Candidates, XtcDropsAllButTheLeastOfTheTopChoices) {
  const auto kept = [](double probability) {
    Candidates candidates = Of({0.125f, 0.5f, 0.125f, 0.25f});
    candidates.DropTopChoices(probability);
    return Sorted(IdsOf(candidates.all()));
  };
  EXPECT_EQ(kept(0.51), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(kept(0.5), (Ids{0, 1, 2, 3})) << "one alone stays";
  EXPECT_EQ(kept(0.25), (Ids{0, 2, 3}));
  EXPECT_EQ(kept(0.125), (Ids{2}));
}

TEST(Candidates, SurprisesAreInBits) {
  const auto kept = [](double bits) {
    Candidates candidates = Of({0.125f, 0.5f, 0.125f, 0.25f});
    candidates.KeepSurpriseBelow(bits);
    return IdsOf(candidates.all());
  };
  EXPECT_EQ(kept(0.5), (Ids{1})) << "the likeliest stays";
  EXPECT_EQ(kept(1.0), (Ids{1}));
  EXPECT_EQ(kept(2.0), (Ids{1, 3}));
  EXPECT_EQ(kept(2.9), (Ids{1, 3}));
  EXPECT_EQ(kept(3.0), (Ids{0, 1, 2, 3}));
  Candidates candidates = Of({0.125f, 0.5f, 0.125f, 0.25f});
  EXPECT_DOUBLE_EQ(candidates.Surprise(candidates.all()[0]), 3);
  candidates.KeepSurpriseBelow(2);
  EXPECT_NEAR(candidates.Surprise(candidates.all()[1]), std::log2(3.0), 1e-12);
}

TEST(Candidates, ADrawGoesThroughTheWeights) {
  const Candidates candidates = Of({0.25f, 0.5f, 0, 0.25f});
  for (const auto& [uniform, id] : std::vector<std::pair<double, TokenId>>{
           {0, 0}, {0.2499, 0}, {0.25, 1}, {0.7499, 1}, {0.75, 3}, {0.9999, 3}, {1.0, 3}}) {
    EXPECT_EQ(candidates.Draw(uniform).id, id) << uniform;
  }
}

TEST(Softmax, SumsAndMaximaCountEveryLane) {
  for (size_t size = 1; size <= 33; ++size) {
    Row same(size, 2.0f), weights(size);
    EXPECT_EQ(ExpWeights(same, 2.0f, 1.0f, weights), static_cast<double>(size));
    EXPECT_EQ(weights, Row(size, 1.0f));
    for (size_t at = 0; at < size; ++at) {
      Row one(size, -3.0f);
      one[at] = -1.0f;
      EXPECT_EQ(Highest(one), -1.0f) << at << " of " << size;
    }
  }
  EXPECT_EQ(Highest({}), -kInfinite);
  EXPECT_EQ(Highest(Row(9, -kInfinite)), -kInfinite);
  Row weights(3);
  EXPECT_NEAR(ExpWeights(Row{1, 3, -1}, 3.0f, 0.5f, weights), 1 + std::exp(-1.0) + std::exp(-2.0), 1e-6);
  EXPECT_EQ(ExpWeights(Row{-87.5f, 0}, 0.0f, 1.0f, std::span(weights).first(2)), 1.0);
  EXPECT_GT(ExpWeights(Row{-86.9f}, 0.0f, 1.0f, std::span(weights).first(1)), 0.0);
  Row sick{std::nanf(""), kInfinite, -kInfinite, 3};
  Sanitize(sick);
  EXPECT_EQ(sick, (Row{-kInfinite, std::numeric_limits<float>::max(), -kInfinite, 3}));
}

Row Changed(Row logits, const SamplingParams& params, const Ids& history, int32_t prompt, const Ids& banned = {},
            const TokenMask* mask = nullptr) {
  Penalties().Apply(logits, params, history, prompt, banned, mask);
  return logits;
}

TEST(Penalties, ChangeExactlyTheseLogits) {
  const Row row{4, -4, 0, 8, 2};
  const Ids history{0, 0, 1, 3, 1, 3, 3};
  EXPECT_EQ(Changed(row, {.logit_bias = {{0, 1.0f}, {4, -3.0f}}}, history, 2), (Row{5, -4, 0, 8, -1}));
  EXPECT_EQ(Changed(row, {.repetition_penalty = 2.0f}, history, 2), (Row{2, -8, 0, 4, 2}));
  EXPECT_EQ(Changed(row, {.presence_penalty = 0.5f}, history, 2), (Row{4, -4.5f, 0, 7.5f, 2}));
  EXPECT_EQ(Changed(row, {.frequency_penalty = 0.5f}, history, 2), (Row{4, -5, 0, 6.5f, 2}));
  EXPECT_EQ(Changed(row, {.presence_penalty = 1.0f, .frequency_penalty = 0.5f}, history, 0), (Row{2, -6, 0, 5.5f, 2}));
  EXPECT_EQ(Changed(row, {.presence_penalty = 1.0f}, history, 100), row) << "no output yet";
  EXPECT_EQ(Changed(row, {.repetition_penalty = 2.0f, .frequency_penalty = 1.0f}, history, 2), (Row{2, -10, 0, 1, 2}));
  EXPECT_EQ(Changed(row, {}, history, 2, {1, 4}), (Row{4, -kInfinite, 0, 8, -kInfinite}));
  TokenMask mask(4);
  mask.Allow(1);
  mask.Allow(3);
  EXPECT_EQ(Changed(row, {}, history, 2, {3}, &mask), (Row{-kInfinite, -4, -kInfinite, -kInfinite, -kInfinite}));
}

TEST(Penalties, ARowsCountsDoNotReachTheNext) {
  Penalties penalties;
  const SamplingParams params{.repetition_penalty = 2.0f, .presence_penalty = 1.0f};
  for (int round = 0; round < 2; ++round) {
    Row row{4, 4, 4};
    penalties.Apply(row, params, Ids{0, 1, 1}, 1, {}, nullptr);
    EXPECT_EQ(row, (Row{2, 1, 4})) << round;
  }
}

Row Dried(const Ids& history, SamplingParams params) {
  Row row(8, 0.0f);
  DryPenalty dry;
  params.dry_multiplier = 1.0f;
  params.dry_base = 2.0f;
  dry.Apply(row, params, history);
  Row again(8, 0.0f);
  dry.Apply(again, params, history);
  EXPECT_EQ(row, again) << "nothing is left of the first row";
  return row;
}

TEST(DryPenalty, GrowsWithTheLengthOfTheRepetition) {
  EXPECT_EQ(Dried({1, 2, 3, 4, 1, 2, 3}, {.dry_allowed_length = 2}), (Row{0, 0, 0, 0, -2, 0, 0, 0}));
  EXPECT_EQ(Dried({1, 2, 3, 4, 1, 2, 3}, {.dry_allowed_length = 3}), (Row{0, 0, 0, 0, -1, 0, 0, 0}));
  EXPECT_EQ(Dried({1, 2, 3, 4, 1, 2, 3}, {.dry_allowed_length = 4}), Row(8, 0.0f));
  EXPECT_EQ(Dried({3, 5, 2, 3, 6, 2, 3}, {.dry_allowed_length = 1}), (Row{0, 0, 0, 0, 0, -1, -2, 0}));
  EXPECT_EQ(Dried({2, 3, 6, 3, 6, 2, 3}, {.dry_allowed_length = 1}), (Row{0, 0, 0, 0, 0, 0, -2, 0}))
      << "the longest counts";
  EXPECT_EQ(Dried({}, {}), Row(8, 0.0f));
  EXPECT_EQ(Dried({1}, {}), Row(8, 0.0f));
}

TEST(DryPenalty, LooksBackAsFarAsItIsTold) {
  const Ids history{1, 2, 3, 4, 1, 2};
  EXPECT_EQ(Dried(history, {.dry_allowed_length = 2, .dry_penalty_last_n = 6}), (Row{0, 0, 0, -1, 0, 0, 0, 0}));
  EXPECT_EQ(Dried(history, {.dry_allowed_length = 1, .dry_penalty_last_n = 5}), (Row{0, 0, 0, -1, 0, 0, 0, 0}));
  EXPECT_EQ(Dried(history, {.dry_allowed_length = 2, .dry_penalty_last_n = 5}), Row(8, 0.0f));
  EXPECT_EQ(Dried(history, {.dry_allowed_length = 1, .dry_penalty_last_n = 0}), Row(8, 0.0f));
  EXPECT_EQ(Dried(history, {.dry_allowed_length = 2, .dry_penalty_last_n = 100}), (Row{0, 0, 0, -1, 0, 0, 0, 0}));
}

TEST(DryPenalty, BreakersEndPassagesAndAreNeverPenalised) {
  EXPECT_EQ(Dried({1, 2, 3, 1, 2}, {.dry_allowed_length = 1, .dry_breakers = {1}}), (Row{0, 0, 0, -1, 0, 0, 0, 0}));
  EXPECT_EQ(Dried({1, 2, 3, 1, 2}, {.dry_allowed_length = 1, .dry_breakers = {3}}), Row(8, 0.0f));
  EXPECT_EQ(Dried({1, 2, 3, 1, 2}, {.dry_allowed_length = 1, .dry_breakers = {2}}), Row(8, 0.0f));
}

TEST(DryPenalty, FiftyTokensAreTheLongestRepetition) {
  const auto penalty = [](size_t length) {
    Ids history(length, 1);
    history.push_back(2);
    history.insert(history.end(), length, 1);
    Row row(4, 0.0f);
    DryPenalty().Apply(row, {.dry_multiplier = 1.0f, .dry_base = 2.0f, .dry_allowed_length = 45}, history);
    return row[2];
  };
  EXPECT_EQ(penalty(49), -16.0f);
  EXPECT_EQ(penalty(50), -32.0f);
  EXPECT_EQ(penalty(60), -32.0f);
}

TEST(Logprobs, AsManyAsWereAskedFor) {
  const Row logits{0, std::log(2.0f), 0};
  Row scratch(3);
  OutputResult result{.token = 2};
  FillLogprobs(logits, 2, scratch, result);
  EXPECT_EQ(result.chosen.id, 2);
  EXPECT_NEAR(result.chosen.logprob, std::log(0.25), 1e-6);
  ASSERT_EQ(result.top.size(), 2u);
  EXPECT_EQ(result.top[0].id, 1);
  EXPECT_NEAR(result.top[0].logprob, std::log(0.5), 1e-6);
  EXPECT_EQ(result.top[1].id, 0);
  FillLogprobs(logits, 0, scratch, result);
  EXPECT_TRUE(result.top.empty());
  FillLogprobs(logits, 1, scratch, result);
  EXPECT_EQ(result.top.size(), 1u);
}

TEST(Sampler, MirostatMovesItsStateByTheError) {
  Row logits{0, -kInfinite, -kInfinite};
  const auto first = Sampler().Sample(logits, {.mirostat = true, .mirostat_tau = 3.0f, .mirostat_eta = 0.25f}, {});
  EXPECT_EQ(first.token, 0);
  EXPECT_FLOAT_EQ(*first.mirostat_mu, 6.75f) << "twice tau, and a quarter of 3 bits too little surprise";
  const auto next =
      Sampler().Sample(logits, {.mirostat = true, .mirostat_tau = 3.0f, .mirostat_eta = 0.25f}, {.mirostat_mu = 1.0f});
  EXPECT_FLOAT_EQ(*next.mirostat_mu, 1.75f);
  EXPECT_FALSE(Sampler().Sample(logits, {}, {}).mirostat_mu);
}

TEST(Sampler, MirostatDrawsBySeedAndNumberAsOthersDo) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (uint64_t draw = 0; draw < 5; ++draw) {
      Row plain(1000, 0.0f), steady(1000, 0.0f);
      const auto expected = Sampler().Sample(plain, {.seed = seed}, {.draw = draw});
      const auto drawn =  // with so much surprise allowed, of all tokens
          Sampler().Sample(steady, {.mirostat = true, .mirostat_tau = 20.0f, .seed = seed}, {.draw = draw});
      EXPECT_EQ(drawn.token, expected.token) << seed << ", " << draw;
    }
  }
}

TEST(Sampler, TopSigmaLeavesWhatIsNearTheHighest) {
  // Mean 1, standard deviation 1: with one sigma everything from 1 on, with less only the two highest.
  const auto drawn = [](float sigma) {
    std::set<TokenId> out;
    for (uint64_t draw = 0; draw < 200; ++draw) {
      Row logits{2, 0, 2, 0, -kInfinite};
      out.insert(Sampler().Sample(logits, {.temperature = 5.0f, .top_n_sigma = sigma}, {.draw = draw}).token);
    }
    return Ids(out.begin(), out.end());
  };
  EXPECT_EQ(drawn(1.9f), (Ids{0, 2}));
  EXPECT_EQ(drawn(2.0f), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(drawn(0.0f), (Ids{0, 1, 2, 3}));
}

}  // namespace
}  // namespace inferflux::engine
