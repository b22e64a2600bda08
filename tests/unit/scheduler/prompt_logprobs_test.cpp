// The log probabilities of a prompt's own tokens.
#include <gtest/gtest.h>

#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

GenerationRequest Scored(std::string_view prompt) {
  return {.prompt = Bytes(prompt), .max_tokens = 3, .prompt_logprobs = 2};
}

std::string Text(const std::vector<GeneratedToken>& tokens) {
  std::string text;
  for (const auto& token : tokens) text += token.chosen.bytes;
  return text;
}

TEST(PromptLogprobs, ComeOnceForAllButTheFirstToken) {
  SchedulerDriver driver(Babble, {.blocks = 100, .context = 400});
  const std::string prompt(200, 'p');  // more than one step scores
  const Received received = driver.Generate(Scored(prompt));
  int events = 0;
  for (const auto& event : received.events) {
    if (event.prompt.empty()) continue;
    ++events;
    EXPECT_EQ(Text(event.prompt), prompt.substr(1));
  }
  EXPECT_EQ(events, 1);
  EXPECT_EQ(received.text, SchedulerDriver::Alone(Babble, {.prompt = Bytes(prompt), .max_tokens = 3}));
}

TEST(PromptLogprobs, ACachedPromptIsScoredAllTheSame) {
  SchedulerDriver driver(Babble, {.blocks = 100, .context = 400});
  driver.Generate({.prompt = Bytes("said before, all of it"), .max_tokens = 1});
  const Received received = driver.Generate(Scored("said before, all of it"));
  EXPECT_EQ(received.finish->usage.cached_tokens, 0);
  EXPECT_EQ(Text(received.events[0].prompt), "aid before, all of it");
}

TEST(PromptLogprobs, SurvivePreemption) {
  SchedulerDriver driver(Babble, {.blocks = 24, .block_size = 4, .max_sequences = 8});
  std::vector<std::shared_ptr<TokenStream>> streams;
  const auto request = [](int i) {
    GenerationRequest out = Scored(std::string(static_cast<size_t>(6 + i), static_cast<char>('a' + i)));
    out.max_tokens = 40;
    return out;
  };
  for (int i = 0; i < 6; ++i) streams.push_back(driver.Submit(request(i)));
  driver.Drain();
  EXPECT_GT(driver.core.stats().preemptions, 0) << "the test must exercise preemption";
  for (int i = 0; i < 6; ++i) {
    Received received;
    Read(*streams[static_cast<size_t>(i)], received);
    std::vector<GeneratedToken> all;
    for (const auto& event : received.events) all.insert(all.end(), event.prompt.begin(), event.prompt.end());
    EXPECT_EQ(Text(all), std::string(static_cast<size_t>(5 + i), static_cast<char>('a' + i)));
  }
}

TEST(PromptLogprobs, APromptThatIsPreemptedWhileItIsScoredScoresEachTokenOnce) {
  SchedulerDriver driver(Babble, {.blocks = 14, .block_size = 4, .max_sequences = 8}, {.max_batch_tokens = 3});
  std::vector<int32_t> scored;  // positions
  driver.engine.on_step = [&](const engine::UnifiedBatch& batch) {
    for (const auto& item : batch.items) {
      for (const auto& output : item.outputs) {
        if (output.kind != engine::OutputSpec::Kind::kLogprobs) continue;
        scored.push_back(item.first_position + output.token_index + 1);
      }
    }
  };
  const auto talker = driver.Submit({.prompt = Bytes("x"), .max_tokens = 40});
  ASSERT_TRUE(driver.core.Step());
  const std::string prompt(40, 'p');
  const auto reader = driver.Submit(Scored(prompt));
  while (driver.core.stats().preemptions == 0) ASSERT_TRUE(driver.core.Step());
  EXPECT_GT(scored.size(), 3u) << "the prompt must have been scored in part";
  EXPECT_LT(scored.size(), prompt.size() - 1);
  driver.Drain();
  std::ranges::sort(scored);
  std::vector<int32_t> each;
  for (int32_t position = 1; position < static_cast<int32_t>(prompt.size()); ++position) each.push_back(position);
  EXPECT_EQ(scored, each);
  Received received;
  Read(*reader, received);
  std::string text;
  for (const auto& event : received.events) text += Text(event.prompt);
  EXPECT_EQ(text, prompt.substr(1));
}

TEST(PromptLogprobs, APromptOfOneTokenHasNone) {
  SchedulerDriver driver(Babble);
  const Received received = driver.Generate(Scored("x"));
  EXPECT_EQ(received.finish->usage.completion_tokens, 3);
  for (const auto& event : received.events) EXPECT_TRUE(event.prompt.empty());
}

}  // namespace
}  // namespace inferflux::scheduler
