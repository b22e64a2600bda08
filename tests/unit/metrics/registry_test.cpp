#include "metrics/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <string_view>
#include <thread>
#include <vector>

#include "metrics/model_metrics.h"

namespace inferflux::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Expose(const Registry& registry) {
  return prometheus::TextSerializer().Serialize(registry.Collectable().Collect());
}

TEST(RegistryTest, HandlesOfOneNameAndLabelsCountTogether) {
  Registry registry;
  registry.GetCounter("inferflux_things_total", "Things.", {{"kind", "a"}}).Add(2);
  registry.GetCounter("inferflux_things_total", "Things.", {{"kind", "a"}}).Add();
  registry.GetCounter("inferflux_things_total", "Things.", {{"kind", "b"}}).Add(7);
  const std::string text = Expose(registry);
  EXPECT_THAT(text, HasSubstr("inferflux_things_total{kind=\"a\"} 3"));
  EXPECT_THAT(text, HasSubstr("inferflux_things_total{kind=\"b\"} 7"));
}

TEST(RegistryTest, AnExpositionSaysWhatEachMetricIs) {
  Registry registry;
  registry.GetCounter("inferflux_c_total", "Counted.").Add(2.5);
  const Gauge gauge = registry.GetGauge("inferflux_g", "Measured.");
  gauge.Set(3);
  gauge.Add(-1);
  registry.GetHistogram("inferflux_h", "Observed.", {1, 2}, {{"kind", "a"}}).Observe(1.5);
  EXPECT_EQ(Expose(registry),
            "# HELP inferflux_c_total Counted.\n# TYPE inferflux_c_total counter\ninferflux_c_total 2.5\n"
            "# HELP inferflux_g Measured.\n# TYPE inferflux_g gauge\ninferflux_g 2\n"
            "# HELP inferflux_h Observed.\n# TYPE inferflux_h histogram\n"
            "inferflux_h_count{kind=\"a\"} 1\ninferflux_h_sum{kind=\"a\"} 1.5\n"
            "inferflux_h_bucket{kind=\"a\",le=\"1\"} 0\ninferflux_h_bucket{kind=\"a\",le=\"2\"} 1\n"
            "inferflux_h_bucket{kind=\"a\",le=\"+Inf\"} 1\n");
}

TEST(RegistryTest, AHolderKeepsTheSeriesOfItsOwnLabelOnly) {
  Registry registry;
  registry.GetGauge("inferflux_g", "G.", {{"model", "a"}}).Set(1);
  registry.GetGauge("inferflux_g", "G.", {{"backend", "a"}}).Set(2);
  registry.GetGauge("inferflux_g", "G.", {{"backend", "b"}, {"model", "c"}}).Set(3);
  registry.GetGauge("inferflux_none", "N.").Set(4);
  auto model = registry.Hold("model", "a");
  const auto backend = registry.Hold("backend", "b");
  model.reset();
  const std::string text = Expose(registry);
  EXPECT_THAT(text, Not(HasSubstr("{model=\"a\"}")));
  EXPECT_THAT(text, HasSubstr("inferflux_g{backend=\"a\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("inferflux_g{backend=\"b\",model=\"c\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("inferflux_none 4\n"));
}

TEST(RegistryTest, LabelValuesFromOutsideAreEscaped) {
  Registry registry;
  registry.GetGauge("inferflux_g", "G.", {{"model", "a\"b\\c\nd"}}).Set(1);
  EXPECT_THAT(Expose(registry), HasSubstr("inferflux_g{model=\"a\\\"b\\\\c\\nd\"} 1"));
}

TEST(RegistryTest, HeldSeriesGoWithTheirLastHolder) {
  Registry registry;
  auto first = registry.Hold("model", "a"), second = registry.Hold("model", "a");
  registry.GetCounter("inferflux_c_total", "C.", {{"model", "a"}, {"kind", "x"}}).Add(2);
  registry.GetHistogram("inferflux_h", "H.", {1, 2}, {{"model", "a"}}).Observe(1);
  registry.GetGauge("inferflux_g", "G.", {{"model", "b"}}).Set(3);
  first.reset();
  EXPECT_THAT(Expose(registry), HasSubstr("inferflux_c_total{kind=\"x\",model=\"a\"} 2"));
  second.reset();
  EXPECT_THAT(Expose(registry), Not(HasSubstr("model=\"a\"")));
  EXPECT_THAT(Expose(registry), HasSubstr("inferflux_g{model=\"b\"} 3")) << "another model's, and without an owner";

  const auto again = registry.Hold("model", "a");
  registry.GetCounter("inferflux_c_total", "C.", {{"model", "a"}, {"kind", "x"}}).Add();
  EXPECT_THAT(Expose(registry), HasSubstr("inferflux_c_total{kind=\"x\",model=\"a\"} 1")) << "from zero";
}

TEST(RegistryTest, CountsFromManyThreadsAreAllKept) {
  Registry registry;
  const Counter counter = registry.GetCounter("inferflux_n_total", "N.");
  const Histogram histogram = registry.GetHistogram("inferflux_h", "H.", {1, 2});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        counter.Add();
        histogram.Observe(1.5);
      }
    });
  }
  for (int i = 0; i < 20; ++i) Expose(registry);
  for (std::thread& thread : threads) thread.join();
  const std::string text = Expose(registry);
  EXPECT_THAT(text, HasSubstr("inferflux_n_total 4000"));
  EXPECT_THAT(text, HasSubstr("inferflux_h_bucket{le=\"1\"} 0"));
  EXPECT_THAT(text, HasSubstr("inferflux_h_bucket{le=\"2\"} 4000"));
}

TEST(RegistryTest, UnboundHandlesCountNothingAndDoNotCrash) {
  Registry registry;
  const ModelMetrics measured(registry, "tiny", "cpu"), unmeasured;
  const std::string before = Expose(registry);
  unmeasured.prompt_tokens.Add(1);
  unmeasured.queue_depth.Set(1);
  unmeasured.graphs.Add(1);
  unmeasured.SetKvBlocks(1, 2, 3);
  unmeasured.inter_token.Observe(1);
  EXPECT_EQ(Expose(registry), before);
}

TEST(ModelMetricsTest, LatencyBucketsReachFromOneMillisecondToOneMinute) {
  Registry registry;
  const ModelMetrics metrics(registry, "tiny", "cpu");
  metrics.time_to_first.Observe(0.0005);
  metrics.time_to_first.Observe(59);
  metrics.time_to_first.Observe(61);
  const std::string text = Expose(registry);
  const std::string name = "inferflux_time_to_first_token_seconds_bucket{backend=\"cpu\",model=\"tiny\",le=";
  EXPECT_THAT(text, HasSubstr(name + "\"0.001\"} 1"));
  EXPECT_THAT(text, HasSubstr(name + "\"60\"} 2"));
  EXPECT_THAT(text, HasSubstr(name + "\"+Inf\"} 3"));
}

TEST(ModelMetricsTest, EachCountHasItsName) {
  Registry registry;
  const ModelMetrics metrics(registry, "tiny", "cpu");
  double value = 100;  // another one each
  for (const Counter* counter :
       {&metrics.prompt_tokens, &metrics.cached_tokens, &metrics.generated_tokens, &metrics.drafted_tokens,
        &metrics.accepted_tokens, &metrics.graph_replays, &metrics.graph_refusals, &metrics.session_file_errors}) {
    counter->Add(++value);
  }
  metrics.queue_depth.Set(201);
  metrics.running_sequences.Set(202);
  metrics.graphs.Set(203);
  metrics.graphs.Add(-0.5);
  metrics.SetKvBlocks(6, 18, 5);
  metrics.time_to_first.Observe(0.001);
  metrics.inter_token.Observe(60);
  const std::string text = Expose(registry);
  for (const char* sample :
       {"model_prompt_tokens_total 101", "cached_prompt_tokens_total 102", "model_completion_tokens_total 103",
        "drafted_tokens_total 104", "accepted_tokens_total 105", "graph_replays_total 106", "graph_refusals_total 107",
        "session_file_errors_total 108", "queue_depth 201", "running_sequences 202", "graphs 202.5", "kv_blocks_used 6",
        "kv_blocks_free 18", "kv_blocks_cached 5", "kv_cache_utilization 0.25", "time_to_first_token_seconds_sum 0.001",
        "inter_token_latency_seconds_sum 60"}) {
    const std::string_view line = sample;
    const size_t space = line.find(' ');
    EXPECT_THAT(text, HasSubstr("\ninferflux_" + std::string(line.substr(0, space)) +
                                "{backend=\"cpu\",model=\"tiny\"}" + std::string(line.substr(space)) + "\n"));
  }
}

// Recorded series and dashboards hold on to these bounds.
TEST(ModelMetricsTest, LatencyBucketsStayTheSame) {
  EXPECT_THAT(LatencyBuckets(),
              ::testing::ElementsAre(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60));
}

TEST(ModelMetricsTest, KvUtilizationIsAShareOfAllBlocks) {
  Registry registry;
  const ModelMetrics metrics(registry, "tiny", "cpu");
  const std::string name = "inferflux_kv_cache_utilization{backend=\"cpu\",model=\"tiny\"} ";
  EXPECT_THAT(Expose(registry), HasSubstr(name + "0\n"));
  metrics.SetKvBlocks(3, 9, 2);
  EXPECT_THAT(Expose(registry), HasSubstr(name + "0.25\n"));
  metrics.SetKvBlocks(12, 0, 0);
  EXPECT_THAT(Expose(registry), HasSubstr(name + "1\n"));
  metrics.SetKvBlocks(1, 0, 0);
  EXPECT_THAT(Expose(registry), HasSubstr(name + "1\n")) << "of a single block";
  metrics.SetKvBlocks(0, 0, 0);
  EXPECT_THAT(Expose(registry), HasSubstr(name + "0\n")) << "an encoder has no KV blocks";
}

}  // namespace
}  // namespace inferflux::metrics
