#include "telemetry/span_exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "telemetry/collector.h"

namespace inferflux::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

TEST(SpanExporterTest, AFullBatchIsSentAtOnceAndTheRestAtTheEnd) {
  metrics::Registry metrics;
  Collector collector;
  auto exporter = SpanExporter::Start(collector.url(), "test", metrics);
  ASSERT_TRUE(exporter.has_value()) << exporter.error().message;
  (*exporter)->Add(Spans(SpanExporter::kMaxBatch));
  EXPECT_TRUE(Eventually([&] { return collector.spans == SpanExporter::kMaxBatch; }));
  (*exporter)->Add(Spans(3));
  (*exporter)->Stop(milliseconds(5000));
  EXPECT_EQ(collector.spans, SpanExporter::kMaxBatch + 3);
  (*exporter)->Add(Spans(1));
  EXPECT_EQ(collector.spans, SpanExporter::kMaxBatch + 3);
  EXPECT_EQ(SpanCount(metrics, "dropped_total{reason=\"queue_full\"}"), 1) << "the one that came too late";
  const std::string text = Exposed(metrics);
  EXPECT_THAT(text, HasSubstr("inferflux_spans_sent_total " + std::to_string(SpanExporter::kMaxBatch + 3) + "\n"));
}

TEST(SpanExporterTest, ABatchThatIsJustFullDoesNotWait) {
  metrics::Registry metrics;
  Collector collector;
  auto exporter = SpanExporter::Start(collector.url(), "test", metrics);
  ASSERT_TRUE(exporter.has_value()) << exporter.error().message;
  // The fastest of several: a machine that is busy makes some of them late.
  auto fastest = steady_clock::duration::max();
  for (size_t batches = 1; batches <= 4; ++batches) {
    std::this_thread::sleep_for(milliseconds(100));  // the exporter pauses, for a second unless a full batch ends it
    const auto began = steady_clock::now();
    (*exporter)->Add(Spans(SpanExporter::kMaxBatch));
    EXPECT_TRUE(Eventually([&] { return collector.spans == batches * SpanExporter::kMaxBatch; }));
    fastest = std::min(fastest, steady_clock::now() - began);
  }
  EXPECT_LT(fastest, SpanExporter::kPause / 2);
}

TEST(SpanExporterTest, WhatDoesNotFitIsDroppedAndCounted) {
  metrics::Registry metrics;
  auto exporter = SpanExporter::Start("http://127.0.0.1:1", "test", metrics);
  ASSERT_TRUE(exporter.has_value());
  // More than the queue and the batch that is being delivered hold, wherever the thread is.
  (*exporter)->Add(Spans(SpanExporter::kMaxQueued + SpanExporter::kMaxBatch + 7));
  (*exporter)->Stop(milliseconds(300));
  const std::string text = Exposed(metrics);
  const size_t overflow = SpanExporter::kMaxBatch + 7;
  EXPECT_THAT(text,
              HasSubstr("inferflux_spans_dropped_total{reason=\"queue_full\"} " + std::to_string(overflow) + "\n"));
  EXPECT_THAT(text, HasSubstr("inferflux_spans_dropped_total{reason=\"undelivered\"} 4096\n"));
  EXPECT_THAT(text, HasSubstr("inferflux_spans_sent_total 0\n"));
}

TEST(SpanExporterTest, ACollectorThatIsBusyIsAskedAgain) {
  metrics::Registry metrics;
  Collector collector;
  collector.status = 503;
  auto exporter = SpanExporter::Start(collector.url() + "/v1/traces", "test", metrics);
  ASSERT_TRUE(exporter.has_value());
  (*exporter)->Add(Spans(2));
  EXPECT_TRUE(Eventually([&] { return collector.posts == 1; }));
  collector.status = 200;
  EXPECT_TRUE(Eventually([&] { return collector.spans == 2; }));
}

TEST(SpanExporterTest, NobodyWaitsForACollectorThatIsNotThere) {
  metrics::Registry metrics;
  auto exporter = SpanExporter::Start("http://127.0.0.1:1", "test", metrics);
  ASSERT_TRUE(exporter.has_value());
  for (int i = 0; i < 100; ++i) (*exporter)->Add(Spans(SpanExporter::kMaxBatch));
  const auto began = steady_clock::now();
  (*exporter)->Stop(milliseconds(300));
  EXPECT_LT(steady_clock::now() - began, milliseconds(5000));
}

TEST(SpanExporterTest, WhatIsNoAddressIsRefused) {
  metrics::Registry metrics;
  EXPECT_EQ(SpanExporter::Start("https://127.0.0.1:4318", "test", metrics).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(SpanExporter::Start("http://127.0.0.1:99999", "test", metrics).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace inferflux::telemetry
