// What is counted while requests run: the metrics, the numbers of the last step, and the history of requests.
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <sstream>

#include "metrics/registry.h"
#include "scheduler/scheduler_driver.h"
#include "scheduler/timeline/request_history.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;

// The samples of the exposition without their labels, "inferflux_" and buckets.
std::string Samples(const metrics::Registry& registry) {
  std::istringstream lines(prometheus::TextSerializer().Serialize(registry.Collectable().Collect()));
  std::string out, line;
  while (std::getline(lines, line)) {
    if (line.starts_with('#') || line.find("_bucket") != line.npos) continue;
    const size_t begin = line.find('{'), end = line.find('}');
    out += line.substr(10, begin - 10) + line.substr(end + 1) + "\n";
  }
  return out;
}

TEST(Counts, AreThoseOfWhatRan) {
  metrics::Registry registry;
  RequestHistory history;
  const auto echo = [](FakeEngine::History all, const engine::OutputSpec& spec) {
    const auto prompt = static_cast<size_t>(spec.prompt_tokens);
    return all.size() == 30 ? TokenId{'!'} : all[(all.size() - prompt) % prompt];
  };
  SchedulerDriver driver(echo, {.blocks = 64, .block_size = 4},
                         {.speculation = {.kind = Speculation::Kind::kPromptLookup, .max_tokens = 3}}, FakeTokenizer(),
                         {.history = &history}, metrics::ModelMetrics(registry, "tiny", "cpu"));
  driver.engine.on_step = [&](const engine::UnifiedBatch&) {
    driver.now += 10ms;
    driver.engine.graph_usage = {.graphs = 2, .replays = driver.engine.graph_usage.replays + 3, .refusals = 1};
  };
  GenerationRequest first{.prompt = Bytes("one two three. "), .max_tokens = 24};
  first.request_id = "first";
  first.account = "an-account";
  const Received one = driver.Generate(first);
  const Received two = driver.Generate({.prompt = Bytes("one two three, "), .max_tokens = 3});
  const Usage& usage = one.finish->usage;
  EXPECT_EQ(Samples(registry),
            "model_prompt_tokens_total 17\n"
            "cached_prompt_tokens_total 13\n"
            "model_completion_tokens_total 27\n"
            "drafted_tokens_total 16\n"
            "accepted_tokens_total 14\n"
            "graph_replays_total 39\n"
            "graph_refusals_total 1\n"
            "session_file_errors_total 0\n"
            "queue_depth 0\n"
            "running_sequences 0\n"
            "kv_blocks_used 0\n"
            "kv_blocks_free 64\n"
            "kv_blocks_cached 13\n"
            "kv_cache_utilization 0\n"
            "graphs 2\n"
            "time_to_first_token_seconds_count 2\n"
            "time_to_first_token_seconds_sum 0.02\n"
            "inter_token_latency_seconds_count 25\n"
            "inter_token_latency_seconds_sum 0.11\n");
  EXPECT_EQ(fmt::format("{} {} {} {} {}", usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens,
                        usage.drafted_tokens, usage.accepted_tokens),
            "15 24 0 16 14");
  const SchedulerStats stats = driver.core.stats();
  EXPECT_EQ(fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", stats.queued, stats.running, stats.kv_blocks_used,
                        stats.kv_blocks_free, stats.kv_blocks_cached, stats.preemptions, stats.drafted_tokens,
                        stats.accepted_tokens, stats.graphs, stats.graph_replays, stats.graph_refusals,
                        stats.retry_after_seconds),
            "0 0 0 64 13 0 16 14 2 39 1 1");
  const auto all = history.All();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].request_id, "first");
  EXPECT_EQ(all[1].account, "an-account");
  EXPECT_EQ(all[1].reason, FinishReason::kLength);
  EXPECT_EQ(all[1].usage.accepted_tokens, usage.accepted_tokens);
  EXPECT_EQ(all[1].phases, one.finish->phases);
  EXPECT_NEAR(all[1].seconds, one.finish->phases.back().end, 1e-9);
  EXPECT_EQ(two.finish->usage.cached_tokens, 13);
}

TEST(Counts, WhatWaitsAndWhatRunsIsShownWhileItDoes) {
  metrics::Registry registry;
  SchedulerDriver driver(Babble, {.blocks = 64, .block_size = 4, .max_sequences = 2}, {}, FakeTokenizer(), {},
                         metrics::ModelMetrics(registry, "tiny", "cpu"));
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 5; ++i) streams.push_back(driver.Submit({.prompt = Bytes("abcde"), .max_tokens = 50}));
  for (int i = 0; i < 4; ++i) driver.core.Step();
  EXPECT_EQ(driver.core.stats().running, 2);
  EXPECT_EQ(driver.core.stats().queued, 3);
  const std::string shown = Samples(registry);
  EXPECT_NE(shown.find("queue_depth 3\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("running_sequences 2\n"), std::string::npos) << shown;
  driver.core.EndWaiting({.code = ErrorCode::kUnavailable, .message = "no more"});
  EXPECT_NE(Samples(registry).find("queue_depth 0\n"), std::string::npos);
  driver.core.EndAll(FinishReason::kCancelled, {});
  EXPECT_NE(Samples(registry).find("running_sequences 0\n"), std::string::npos);
  int unavailable = 0, cancelled = 0;
  for (const auto& stream : streams) {
    Received received;
    Read(*stream, received);
    unavailable += received.finish->reason == FinishReason::kError && received.finish->error.message == "no more";
    cancelled += received.finish->reason == FinishReason::kCancelled;
  }
  EXPECT_EQ(unavailable, 3);
  EXPECT_EQ(cancelled, 2);
}

TEST(Counts, OneIdHasAtMost16Requests) {
  RequestHistory history;
  for (int i = 0; i < 17; ++i) history.Add({.request_id = "many", .seconds = 1.0 * i});
  ASSERT_EQ(history.All().size(), 16u);
  EXPECT_EQ(history.All().front().seconds, 15);
  EXPECT_EQ(history.All().back().seconds, 0);
  for (int i = 0; i < 241; ++i) history.Add({.request_id = std::to_string(i)});
  EXPECT_EQ(history.All().size(), 256u);
  EXPECT_EQ(history.Find("many").size(), 15u) << "the oldest went";
}

}  // namespace
}  // namespace inferflux::scheduler
