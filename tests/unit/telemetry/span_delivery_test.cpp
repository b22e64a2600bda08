// What becomes of spans by what the collector answers, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/silent_port.h"
#include "telemetry/collector.h"
#include "telemetry/span_exporter.h"

namespace inferflux::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr size_t kBatch = SpanExporter::kMaxBatch;
const std::string kQueueFull = "dropped_total{reason=\"queue_full\"}";
const std::string kUndelivered = "dropped_total{reason=\"undelivered\"}";

std::unique_ptr<SpanExporter> Started(const std::string& url, metrics::Registry& metrics) {
  auto out = SpanExporter::Start(url, "test", metrics);
  EXPECT_TRUE(out.has_value()) << out.error().message;
  return out ? std::move(*out) : nullptr;
}

// An exporter to a collector with one answer.
struct Delivery {
  explicit Delivery(int status) { collector.status = status; }

  metrics::Registry metrics;
  Collector collector;
  std::unique_ptr<SpanExporter> exporter = Started(collector.url(), metrics);
};

// OpenTelemetry's OTLP specification, "Retryable Response Codes".
TEST(SpanDeliveryTest, OnlyACollectorThatIsBusyIsAskedAgain) {
  std::vector<std::unique_ptr<Delivery>> taken, lost, busy;
  for (const int status : {200, 204, 299}) taken.push_back(std::make_unique<Delivery>(status));
  for (const int status : {300, 400, 428, 430, 500, 501, 505}) lost.push_back(std::make_unique<Delivery>(status));
  for (const int status : {429, 502, 503, 504}) busy.push_back(std::make_unique<Delivery>(status));
  for (const auto* list : {&taken, &lost, &busy}) {
    for (const auto& each : *list) each->exporter->Add(Spans(3));
  }
  auto first = steady_clock::duration::max(), second = first;  // the shortest waits: a busy machine makes some longer
  for (const auto& each : busy) {
    EXPECT_TRUE(Eventually([&] { return each->collector.posts >= 3; })) << each->collector.status;
    const auto times = each->collector.times();
    first = std::min(first, times.at(1) - times.at(0));
    second = std::min(second, times.at(2) - times.at(1));
    EXPECT_EQ(SpanCount(each->metrics, kUndelivered), 0) << each->collector.status;
    each->exporter->Stop(milliseconds(5000));
    EXPECT_EQ(SpanCount(each->metrics, kUndelivered), 3) << each->collector.status;
    EXPECT_EQ(SpanCount(each->metrics, "sent_total"), 0) << each->collector.status;
  }
  EXPECT_GE(first, milliseconds(990));
  EXPECT_LT(first, milliseconds(1500));
  EXPECT_GE(second, milliseconds(1990)) << "twice as long";
  EXPECT_LT(second, milliseconds(2500));
  for (const auto& each : taken) {
    EXPECT_TRUE(Eventually([&] { return SpanCount(each->metrics, "sent_total") == 3; })) << each->collector.status;
    EXPECT_EQ(each->collector.posts, 1) << each->collector.status;
    EXPECT_EQ(SpanCount(each->metrics, kUndelivered), 0) << each->collector.status;
  }
  for (const auto& each : lost) {
    EXPECT_TRUE(Eventually([&] { return SpanCount(each->metrics, kUndelivered) == 3; })) << each->collector.status;
    EXPECT_EQ(each->collector.posts, 1) << each->collector.status;
    EXPECT_EQ(SpanCount(each->metrics, "sent_total"), 0) << each->collector.status;
  }
}

// The time that the spans of `adds`, one after the other, take to be at the collector, from its pause on.
steady_clock::duration TimeOf(const std::vector<size_t>& adds, Delivery& to) {
  std::this_thread::sleep_for(milliseconds(100));
  const auto began = steady_clock::now();
  const size_t all = std::accumulate(adds.begin(), adds.end(), to.collector.spans.load());
  for (const size_t count : adds) to.exporter->Add(Spans(count));
  EXPECT_TRUE(Eventually([&] { return to.collector.spans == all; }));
  return steady_clock::now() - began;
}

TEST(SpanDeliveryTest, FullBatchesEndThePauseAndFewerSpansWaitForIt) {
  Delivery to(200);
  // The fastest and the slowest of several: a machine that is busy makes some of them late.
  for (const std::vector<size_t>& adds :
       {std::vector<size_t>{kBatch - 1, 1}, {kBatch - 12, 100}, {2 * kBatch}, {2 * kBatch + 276}}) {
    auto fastest = steady_clock::duration::max();
    for (int i = 0; i < 4 && fastest >= SpanExporter::kPause / 2; ++i) fastest = std::min(fastest, TimeOf(adds, to));
    EXPECT_LT(fastest, SpanExporter::kPause / 2) << adds.front();
  }
  auto slowest = steady_clock::duration::min();
  for (int i = 0; i < 4; ++i) slowest = std::max(slowest, TimeOf({1, 1}, to));
  EXPECT_GT(slowest, SpanExporter::kPause / 4);
}

TEST(SpanDeliveryTest, SpansAreSentInTheirOrderInMessagesOfABatch) {
  Delivery to(200);
  to.exporter->Add(Spans(2 * kBatch + 276));
  to.exporter->Stop(milliseconds(5000));
  const auto messages = to.collector.names();
  ASSERT_THAT(messages, ElementsAre(SizeIs(kBatch), SizeIs(kBatch), SizeIs(276)));
  size_t next = 0;
  for (const auto& message : messages) {
    for (const std::string& name : message) ASSERT_EQ(name, std::to_string(next++));
  }
}

TEST(SpanDeliveryTest, AStopEndsThePauseAndWaitsForNothingElse) {
  auto fastest = steady_clock::duration::max();
  for (int i = 0; i < 4 && fastest >= SpanExporter::kPause / 2; ++i) {
    Delivery to(200);
    std::this_thread::sleep_for(milliseconds(100));
    to.exporter->Add(Spans(1));
    const auto began = steady_clock::now();
    to.exporter->Stop(milliseconds(20'000));
    fastest = std::min(fastest, steady_clock::now() - began);
    EXPECT_EQ(to.collector.spans, 1u);
  }
  EXPECT_LT(fastest, SpanExporter::kPause / 2);
}

TEST(SpanDeliveryTest, AfterAStopABusyCollectorIsAskedOnceMore) {
  Delivery to(503);
  to.exporter->Add(Spans(3));
  ASSERT_TRUE(Eventually([&] { return to.collector.posts >= 1; }));
  to.exporter->Stop(milliseconds(20'000));
  EXPECT_LT(to.collector.posts, SpanExporter::kMostTries);
  EXPECT_EQ(SpanCount(to.metrics, kUndelivered), 3);
}

TEST(SpanDeliveryTest, TheAddressMayHaveAPath) {
  for (const char* end : {"", "/", "/v1/traces", "/v1/traces/"}) {
    metrics::Registry metrics;
    Collector collector("/otel/v1/traces");
    const auto exporter = Started(collector.url() + "/otel" + end, metrics);
    exporter->Add(Spans(1));
    exporter->Stop(milliseconds(5000));
    EXPECT_EQ(collector.spans, 1u) << end;
  }
}

TEST(SpanDeliveryTest, AProblemIsToldOnceUntilItIsOver) {
  ::testing::internal::CaptureStderr();
  Delivery to(400);
  size_t delivered = 0;
  for (const int status : {400, 400, 200, 400, 200}) {
    to.collector.status = status;
    to.exporter->Add(Spans(kBatch));
    delivered += kBatch;
    EXPECT_TRUE(Eventually([&] {
      return SpanCount(to.metrics, "sent_total") + SpanCount(to.metrics, kUndelivered) ==
             static_cast<double>(delivered);
    }));
  }
  const std::string address = to.collector.url().substr(7);
  to.exporter->Stop(milliseconds(5000));
  const std::string text = ::testing::internal::GetCapturedStderr();
  const std::string line = "telemetry: the collector " + address + " takes no traces: it answered 400\n";
  const size_t first = text.find(line);
  ASSERT_NE(first, std::string::npos) << text;
  const size_t second = text.find(line, first + 1);
  ASSERT_NE(second, std::string::npos) << text;
  EXPECT_EQ(text.find(line, second + 1), std::string::npos) << text;
}

TEST(SpanDeliveryTest, AStopEndsInTimeAndCountsAllThatIsLost) {
  metrics::Registry metrics;
  const inferflux::testing::SilentPort silent;
  const auto exporter = Started("http://127.0.0.1:" + std::to_string(silent.port()), metrics);
  exporter->Add(Spans(kBatch));
  const int client = silent.AwaitRequest();  // a batch is on its way
  exporter->Add(Spans(SpanExporter::kMaxQueued - 1));
  exporter->Add(Spans(5));
  EXPECT_EQ(SpanCount(metrics, kQueueFull), 4) << "there was room for one";
  const auto began = steady_clock::now();
  exporter->Stop(milliseconds(300));
  const auto took = steady_clock::now() - began;
  EXPECT_GE(took, milliseconds(300));
  EXPECT_LT(took, milliseconds(5000));
  EXPECT_EQ(SpanCount(metrics, kUndelivered), kBatch + SpanExporter::kMaxQueued);
  EXPECT_EQ(SpanCount(metrics, "sent_total"), 0);
  ::close(client);
}

}  // namespace
}  // namespace inferflux::telemetry
