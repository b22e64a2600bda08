#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/scheduler_driver.h"

namespace inferflux::scheduler {
namespace {

TEST(Scheduler, StreamsTextInOrderAndEndsOnce) {
  SchedulerDriver driver(Says(Bytes("Paris.")));
  const Received received = driver.Generate({.prompt = Bytes("Capital of France?")});
  EXPECT_EQ(received.text, "Paris.");
  EXPECT_EQ(received.events.size(), 7u) << "one a token, and the end";
  EXPECT_EQ(received.finishes, 1);
  EXPECT_EQ(received.finish->reason, FinishReason::kStop);
  EXPECT_EQ(received.finish->usage.prompt_tokens, 18);
  EXPECT_EQ(received.finish->usage.completion_tokens, 7) << "the end token counts";
  EXPECT_EQ(driver.engine.usage().blocks_used, 0);
}

TEST(Scheduler, MaxTokensEndsWithLength) {
  SchedulerDriver driver(Says(Bytes("one two three")));
  const Received received = driver.Generate({.prompt = Bytes("?"), .max_tokens = 7});
  EXPECT_EQ(received.text, "one two");
  EXPECT_EQ(received.finish->reason, FinishReason::kLength);
  EXPECT_EQ(received.finish->usage.completion_tokens, 7);
}

TEST(Scheduler, WithoutMaxTokensTheContextIsTheLimit) {
  SchedulerDriver driver(Babble, {.context = 20});
  const Received received = driver.Generate({.prompt = Bytes("12345")});
  EXPECT_EQ(received.finish->reason, FinishReason::kLength);
  EXPECT_EQ(received.finish->usage.completion_tokens, 15);
}

TEST(Scheduler, IgnoreEosBansTheEndTokens) {
  std::vector<TokenId> banned;
  SchedulerDriver driver([&](FakeEngine::History, const engine::OutputSpec& spec) {
    banned = spec.banned;
    return TokenId{'x'};
  });
  const Received received = driver.Generate({.prompt = Bytes("?"), .max_tokens = 3, .ignore_eos = true});
  EXPECT_EQ(received.text, "xxx");
  EXPECT_EQ(banned, std::vector<TokenId>{kEnd});
}

TEST(Scheduler, AStopStringEndsTheTextAndIsNeverShown) {
  SchedulerDriver driver(Says(Bytes("42\n\nUser: more")));
  const Received received = driver.Generate({.prompt = Bytes("?"), .stop = {"\n\nUser:"}});
  EXPECT_EQ(received.text, "42");
  EXPECT_EQ(received.finish->reason, FinishReason::kStop);
  EXPECT_EQ(received.finish->usage.completion_tokens, 9);
  for (const auto& event : received.events) EXPECT_EQ(event.text.find('\n'), std::string::npos);
  EXPECT_EQ(received.tokens.size(), 2u) << "the stop string's tokens stay behind too";
}

TEST(Scheduler, TheFinishSaysWhatEndedTheText) {
  SchedulerDriver driver(Says(Bytes("a, b; c")));
  const Received at_stop = driver.Generate({.prompt = Bytes("?"), .stop = {"x", ";", ", "}});
  EXPECT_EQ(at_stop.finish->stop_string, ", ");
  EXPECT_FALSE(at_stop.finish->stop_token.has_value());
  const Received at_end = driver.Generate({.prompt = Bytes("?"), .stop = {"x"}});
  EXPECT_EQ(at_end.finish->stop_token, kEnd);
  EXPECT_FALSE(at_end.finish->stop_string.has_value());
  const Received at_length = driver.Generate({.prompt = Bytes("?"), .max_tokens = 1, .stop = {";"}});
  EXPECT_FALSE(at_length.finish->stop_token.has_value() || at_length.finish->stop_string.has_value());
}

TEST(Scheduler, CharactersAreNeverCut) {
  SchedulerDriver driver(Says(Bytes("grün 😀")));
  const Received received = driver.Generate({.prompt = Bytes("?")});
  EXPECT_EQ(received.text, "grün 😀");
  EXPECT_EQ(received.events.size(), 7u);
}

TEST(Scheduler, ACharacterThatMaxTokensCutsIsReplaced) {
  SchedulerDriver driver(Says(Bytes("a😀")));
  EXPECT_EQ(driver.Generate({.prompt = Bytes("?"), .max_tokens = 3}).text, "a\xEF\xBF\xBD");
}

TEST(Scheduler, LogprobsComeWithTheirTokens) {
  SchedulerDriver driver(Says(Bytes("hi")));
  const Received received = driver.Generate({.prompt = Bytes("?"), .top_logprobs = 0});
  ASSERT_EQ(received.tokens.size(), 2u);
  EXPECT_EQ(received.tokens[1].chosen.id, 'i');
  EXPECT_EQ(received.tokens[1].chosen.bytes, "i");
  EXPECT_FLOAT_EQ(received.tokens[1].chosen.logprob, -0.5f);
}

TEST(Scheduler, TellsWhatItsEngineCaptured) {
  SchedulerDriver driver(Babble);
  driver.engine.graph_usage = {.graphs = 3, .replays = 40, .refusals = 1};
  const SchedulerStats stats = driver.core.stats();
  EXPECT_EQ(stats.graphs, 3);
  EXPECT_EQ(stats.graph_replays, 40);
  EXPECT_EQ(stats.graph_refusals, 1);
}

TEST(Scheduler, CancellingFreesTheSequenceWithinOneStep) {
  SchedulerDriver driver(Babble);
  const auto stream = driver.Submit({.prompt = Bytes("hello")});
  const auto other = driver.Submit({.prompt = Bytes("other"), .max_tokens = 50});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(driver.core.Step());
  stream->Cancel();
  driver.core.Step();
  EXPECT_EQ(driver.core.stats().running, 1);
  Received received;
  Read(*stream, received);
  EXPECT_EQ(received.finish->reason, FinishReason::kCancelled);
  EXPECT_EQ(received.finish->usage.completion_tokens, 5);
  EXPECT_EQ(received.finishes, 1);
  driver.Drain();
  EXPECT_EQ(driver.engine.usage().blocks_used, 0);
}

TEST(Scheduler, AWaitingRequestCanBeCancelledToo) {
  SchedulerDriver driver(Babble, {.max_sequences = 1});
  const auto running = driver.Submit({.prompt = Bytes("a"), .max_tokens = 20});
  const auto waiting = driver.Submit({.prompt = Bytes("b"), .max_tokens = 20});
  ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(driver.core.stats().queued, 1);
  waiting->Cancel();
  driver.core.Step();
  EXPECT_EQ(driver.core.stats().queued, 0);
  Received received;
  Read(*waiting, received);
  EXPECT_EQ(received.finish->reason, FinishReason::kCancelled);
}

TEST(Scheduler, ADeadlineEndsARequestWithAnErrorThatSaysSo) {
  SchedulerDriver driver(Babble);
  const auto stream = driver.Submit({.prompt = Bytes("a"), .deadline = driver.now + std::chrono::seconds(1)});
  EXPECT_EQ(driver.core.next_deadline(), driver.now + std::chrono::seconds(1));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(driver.core.Step());
  driver.now += std::chrono::seconds(1);
  EXPECT_FALSE(driver.core.Step());
  Received received;
  Read(*stream, received);
  EXPECT_EQ(received.finish->reason, FinishReason::kError);
  EXPECT_EQ(received.finish->error.code, ErrorCode::kResourceExhausted);
  EXPECT_NE(received.finish->error.message.find("deadline passed after 3"), std::string::npos);
}

TEST(Scheduler, ARequestThatWaitsEndsAtItsDeadlineToo) {
  SchedulerDriver driver(Babble, {.max_sequences = 1});
  const auto running = driver.Submit({.prompt = Bytes("a"), .max_tokens = 20});
  const auto waiting = driver.Submit({.prompt = Bytes("b"), .deadline = driver.now + std::chrono::seconds(1)});
  ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(driver.core.next_deadline(), driver.now + std::chrono::seconds(1));
  driver.now += std::chrono::seconds(1);
  ASSERT_TRUE(driver.core.Step());
  Received received, other;
  Read(*waiting, received);
  ASSERT_TRUE(received.done());
  EXPECT_EQ(received.finish->reason, FinishReason::kError);
  EXPECT_NE(received.finish->error.message.find("deadline passed after 0"), std::string::npos);
  EXPECT_EQ(driver.core.stats().queued, 0);
  driver.Drain();
  Read(*running, other);
  EXPECT_EQ(other.finish->reason, FinishReason::kLength);
}

TEST(Scheduler, FreeBlocksAreThoseThatAreFreeAndThoseThatAreOnlyCached) {
  SchedulerDriver driver(Babble, {.blocks = 64, .block_size = 4});
  EXPECT_EQ(driver.core.stats().kv_blocks_free, 64);
  driver.Generate({.prompt = Bytes(std::string(41, 'p')), .max_tokens = 4});
  ASSERT_GT(driver.engine.usage().blocks_cached, 0);
  ASSERT_GT(driver.engine.usage().blocks_free, 0);
  EXPECT_EQ(driver.core.stats().kv_blocks_free, 64);
  EXPECT_EQ(driver.core.stats().kv_blocks_used, 0);
  const auto running = driver.Submit({.prompt = Bytes(std::string(13, 'q')), .max_tokens = 20});
  ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(driver.core.stats().kv_blocks_used, 4) << "13 tokens in blocks of 4";
  EXPECT_EQ(driver.core.stats().kv_blocks_free, 60);
}

TEST(Scheduler, ANewcomerJoinsBetweenTwoSteps) {
  SchedulerDriver driver(Babble);
  const auto first = driver.Submit({.prompt = Bytes("first"), .max_tokens = 10});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(driver.core.Step());
  size_t items = 0;
  driver.engine.on_step = [&](const engine::UnifiedBatch& batch) { items = batch.items.size(); };
  const auto second = driver.Submit({.prompt = Bytes("second"), .max_tokens = 10});
  ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(items, 2u);
  Received received;
  Read(*second, received);
  EXPECT_EQ(received.text.size(), 1u) << "its first token comes with the first's next";
}

TEST(Scheduler, ALongPromptIsPrefilledInChunksWhileOthersDecode) {
  SchedulerDriver driver(Babble, {.context = 128}, {.max_batch_tokens = 16});
  const auto talker = driver.Submit({.prompt = Bytes("x"), .max_tokens = 100});
  ASSERT_TRUE(driver.core.Step());
  std::vector<size_t> rows;
  driver.engine.on_step = [&](const engine::UnifiedBatch& batch) {
    size_t sum = 0;
    for (const auto& item : batch.items) sum += item.tokens.size();
    rows.push_back(sum);
    EXPECT_EQ(batch.items[0].tokens.size(), 1u) << "decode comes first";
  };
  const std::string prompt(60, 'p');
  const auto reader = driver.Submit({.prompt = Bytes(prompt), .max_tokens = 4});
  Received talked, read;
  Read(*talker, talked);
  const size_t before = talked.text.size();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(driver.core.Step());
  EXPECT_EQ(rows, (std::vector<size_t>{16, 16, 16, 16}));
  Read(*talker, talked);
  EXPECT_EQ(talked.text.size() - before, 4u) << "one token a step, whatever the other prompt's length";
  Read(*reader, read);
  EXPECT_EQ(read.text.size(), 1u);
}

// The rows in the first step of a new prompt of 60 tokens while `talkers` sequences decode.
size_t RowsBeside(int talkers, const FakeEngineOptions& options, const StepPolicy& policy) {
  SchedulerDriver driver(Babble, options, policy);
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < talkers; ++i) streams.push_back(driver.Submit({.prompt = Bytes("x"), .max_tokens = 100}));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(driver.core.Step());
  size_t rows = 0;
  driver.engine.on_step = [&](const engine::UnifiedBatch& batch) {
    for (const auto& item : batch.items) rows += item.tokens.size();
  };
  const auto newcomer = driver.Submit({.prompt = Bytes(std::string(60, 'p')), .max_tokens = 4});
  EXPECT_TRUE(driver.core.Step());
  return rows;
}

TEST(Scheduler, AStepComputesNoMoreThanThePolicySays) {
  const FakeEngineOptions engine{.blocks = 1000, .context = 128};
  EXPECT_EQ(RowsBeside(3, engine, {.max_batch_tokens = 8}), 8u);
  EXPECT_EQ(RowsBeside(12, engine, {.max_batch_tokens = 8}), 8u) << "though more sequences may run";
}

TEST(Scheduler, ManyDecodesLeaveHalfOfAStepToNewcomers) {
  const FakeEngineOptions engine{.blocks = 1000, .context = 128, .step_tokens = 8};
  EXPECT_EQ(RowsBeside(3, engine, {}), 8u);
  EXPECT_EQ(RowsBeside(12, engine, {}), 24u);
}

TEST(Scheduler, ResultsThatWereNotAskedForEndTheirRequestsAlone) {
  SchedulerDriver driver(Babble, {.context = 128}, {});
  const auto first = driver.Submit({.prompt = Bytes("a"), .max_tokens = 3});
  const auto too_many = driver.Submit({.prompt = Bytes("b"), .max_tokens = 3});
  const auto too_few = driver.Submit({.prompt = Bytes("c"), .max_tokens = 3});
  const auto missing = driver.Submit({.prompt = Bytes("d"), .max_tokens = 3});
  driver.engine.on_result = [](engine::StepResult& result) {
    if (result.items.size() != 4) return;
    result.items[1].push_back(result.items[1].front());
    result.items[2].clear();
    result.items.pop_back();
  };
  while (driver.core.Step()) {
  }
  Received received;
  Read(*first, received);
  ASSERT_TRUE(received.done());
  EXPECT_EQ(received.finish->reason, FinishReason::kLength);
  EXPECT_EQ(received.text.size(), 3u);
  for (const auto& [stream, count] : {std::pair(too_many, 2), {too_few, 0}, {missing, 0}}) {
    Received failed;
    Read(*stream, failed);
    ASSERT_TRUE(failed.done());
    EXPECT_EQ(failed.finish->reason, FinishReason::kError);
    EXPECT_EQ(failed.finish->error.code, ErrorCode::kInternal);
    EXPECT_EQ(failed.finish->error.message, fmt::format("the engine returned {} results, but 1 were requested", count));
  }
}

TEST(Scheduler, FirstTokensComeInOrderOfArrival) {
  SchedulerDriver driver(Babble, {.blocks = 200, .context = 64}, {.max_batch_tokens = 32});
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 6; ++i) {
    streams.push_back(driver.Submit({.prompt = Bytes(std::string(32, static_cast<char>('a' + i))), .max_tokens = 20}));
  }
  std::vector<int> first_token(streams.size(), -1);
  for (int step = 0; first_token.back() < 0; ++step) {
    ASSERT_TRUE(driver.core.Step());
    for (size_t i = 0; i < streams.size(); ++i) {
      if (first_token[i] < 0 && streams[i]->TryPop()) first_token[i] = step;
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(first_token));
  EXPECT_EQ(first_token[0], 0) << "not all at the end";
  EXPECT_GE(first_token[5], 5);
}

TEST(Scheduler, SharedPrefixesAreCountedAsCached) {
  SchedulerDriver driver(Babble);
  const std::string system(40, 's');
  EXPECT_EQ(driver.Generate({.prompt = Bytes(system + "one"), .max_tokens = 4}).finish->usage.cached_tokens, 0);
  EXPECT_EQ(driver.Generate({.prompt = Bytes(system + "two"), .max_tokens = 4}).finish->usage.cached_tokens, 40);
  const GenerationRequest salted{.prompt = Bytes(system + "one"), .max_tokens = 4, .cache_salt = 5};
  EXPECT_EQ(driver.Generate(salted).finish->usage.cached_tokens, 0);
}

TEST(Scheduler, IdenticalPromptsAtOnceAreComputedOnce) {
  SchedulerDriver driver(Babble);
  int64_t rows = 0;
  driver.engine.on_step = [&](const engine::UnifiedBatch& batch) {
    for (const auto& item : batch.items) rows += static_cast<int64_t>(item.tokens.size());
  };
  const std::string prompt(41, 'p');
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (uint64_t i = 0; i < 4; ++i) {
    streams.push_back(driver.Submit({.prompt = Bytes(prompt), .sampling = {.seed = i}, .max_tokens = 1}));
  }
  driver.Drain();
  EXPECT_EQ(rows, 41 + 3);
  Received last;
  Read(*streams[3], last);
  EXPECT_EQ(last.finish->usage.cached_tokens, 40);
}

}  // namespace
}  // namespace inferflux::scheduler
