// Compares each sampling parameter with numpy's distribution (tools/golden_sampling.py), and tests state across draws.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "engine/sampling/sampler.h"
#include "support/sampling_reference.h"

namespace inferflux::engine {
namespace {

namespace json = boost::json;
using testing::SamplingSetting;

struct Case {
  SamplingSetting setting;
  std::vector<float> logits;
  std::vector<double> probabilities;
};

void Set(const json::key_value_pair& entry, SamplingSetting& out) {
  SamplingParams& p = out.params;
  const std::map<std::string, float*> numbers{{"temperature", &p.temperature},
                                              {"top_p", &p.top_p},
                                              {"min_p", &p.min_p},
                                              {"typical_p", &p.typical_p},
                                              {"top_n_sigma", &p.top_n_sigma},
                                              {"xtc_probability", &p.xtc_probability},
                                              {"xtc_threshold", &p.xtc_threshold},
                                              {"repetition_penalty", &p.repetition_penalty},
                                              {"presence_penalty", &p.presence_penalty},
                                              {"frequency_penalty", &p.frequency_penalty},
                                              {"dry_multiplier", &p.dry_multiplier},
                                              {"dry_base", &p.dry_base},
                                              {"mirostat_tau", &p.mirostat_tau}};
  const std::map<std::string, int32_t*> integers{{"top_k", &p.top_k},
                                                 {"dry_allowed_length", &p.dry_allowed_length},
                                                 {"dry_penalty_last_n", &p.dry_penalty_last_n}};
  const std::string name(entry.key());
  if (numbers.contains(name)) {
    *numbers.at(name) = json::value_to<float>(entry.value());
  } else if (integers.contains(name)) {
    *integers.at(name) = json::value_to<int32_t>(entry.value());
  } else if (name == "mirostat") {
    p.mirostat = entry.value().as_bool();
  } else if (name == "mirostat_mu") {
    out.mirostat_mu = json::value_to<float>(entry.value());
  } else if (name == "dry_breakers") {
    p.dry_breakers = json::value_to<std::vector<TokenId>>(entry.value());
  } else {
    FAIL() << "the golden file has a parameter that this test does not know: " << name;
  }
}

std::vector<Case> Golden() {
  std::ifstream file(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/sampling.json");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<Case> cases;
  const json::value all = json::parse(text);
  for (const json::value& entry : all.as_array()) {
    Case out;
    for (const auto& param : entry.at("params").as_object()) Set(param, out.setting);
    out.setting.history = json::value_to<std::vector<TokenId>>(entry.at("history"));
    out.setting.prompt_tokens = json::value_to<int32_t>(entry.at("prompt_tokens"));
    out.logits = json::value_to<std::vector<float>>(entry.at("logits"));
    out.probabilities = json::value_to<std::vector<double>>(entry.at("probabilities"));
    cases.push_back(std::move(out));
  }
  EXPECT_GT(cases.size(), 30u);
  return cases;
}

SampleContext ContextOf(const SamplingSetting& setting, uint64_t draw) {
  return {.history = setting.history,
          .prompt_tokens = setting.prompt_tokens,
          .draw = draw,
          .mirostat_mu = setting.mirostat_mu};
}

TEST(SamplingGolden, TheReferenceIsNumpys) {
  const auto cases = Golden();
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto probabilities = testing::SamplingReference(cases[i].logits, cases[i].setting);
    for (size_t id = 0; id < probabilities.size(); ++id) {
      EXPECT_NEAR(probabilities[id], cases[i].probabilities[id], 1e-6) << "case " << i << ", token " << id;
    }
  }
}

TEST(SamplingGolden, DrawsFollowNumpysDistribution) {
  const auto cases = Golden();
  for (size_t i = 0; i < cases.size(); ++i) {
    Sampler sampler;
    std::vector<int> seen(cases[i].logits.size(), 0);
    for (uint64_t draw = 0; draw < 20000; ++draw) {
      auto row = cases[i].logits;
      ++seen[static_cast<size_t>(
          sampler.Sample(row, cases[i].setting.params, ContextOf(cases[i].setting, draw)).token)];
    }
    EXPECT_LT(testing::DrawDeviation(cases[i].probabilities, seen), 4.5) << "case " << i;
  }
}

TEST(Mirostat, StateFollowsTheSurpriseOfWhatWasDrawn) {
  const std::vector<float> logits{2.0f, 1.0f, 0.0f, -1.0f};
  const SamplingParams params{.mirostat = true, .mirostat_tau = 1.0f, .mirostat_eta = 0.25f, .seed = 5};
  std::optional<float> mu;
  for (uint64_t draw = 0; draw < 200; ++draw) {
    const SamplingSetting setting{.params = params, .mirostat_mu = mu};
    const auto probabilities = testing::SamplingReference(logits, setting);
    auto row = logits;
    const auto result = Sampler().Sample(row, params, ContextOf(setting, draw));
    ASSERT_TRUE(result.mirostat_mu);
    const double surprise = -std::log2(probabilities[static_cast<size_t>(result.token)]);
    EXPECT_NEAR(*result.mirostat_mu, mu.value_or(2.0f) - 0.25 * (surprise - 1.0), 1e-5) << "draw " << draw;
    mu = result.mirostat_mu;
  }
}

TEST(Dry, AHugeRepetitionStaysFinite) {
  const std::vector<TokenId> history(400, 1);
  SamplingParams params{.temperature = 0.0f, .dry_multiplier = 100.0f, .dry_base = 4.0f};
  std::vector<float> logits{1.0f, 50.0f, 2.0f};
  EXPECT_EQ(Sampler().Sample(logits, params, {.history = history}).token, 2);
}

TEST(Dry, ABreakerLimitsWhatCountsAsRepeatedToWhatIsBehindIt) {
  SamplingParams params{.temperature = 0.0f, .dry_multiplier = 10.0f, .dry_allowed_length = 1, .dry_breakers = {0}};
  const auto chosen = [&](const std::vector<TokenId>& history) {
    std::vector<float> logits{1.0f, 2.0f, 50.0f, 45.0f};
    return Sampler().Sample(logits, params, {.history = history}).token;
  };
  EXPECT_EQ(chosen({1, 2, 3, 0, 1}), 3) << "one token behind a breaker is repeated too: 2 would follow it again";
  EXPECT_EQ(chosen({1, 2, 3, 1, 0}), 2) << "nothing is behind the breaker";
  params.dry_allowed_length = 2;
  EXPECT_EQ(chosen({1, 2, 3, 0, 1}), 2) << "one token is shorter than what is allowed";
}

TEST(Greedy, FiltersChangeNothingAtTemperatureZero) {
  const SamplingParams params{
      .temperature = 0.0f, .typical_p = 0.1f, .xtc_probability = 1.0f, .xtc_threshold = 0.01f, .mirostat = true};
  std::vector<float> logits{1.0f, 3.0f, 2.9f};
  EXPECT_EQ(Sampler().Sample(logits, params, {}).token, 1);
}

}  // namespace
}  // namespace inferflux::engine
