// What the trace of a request says of it: the whole spans.
#include "server/request/trace/request_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace inferflux::testing {
namespace {

using scheduler::FinishReason;
using scheduler::TimelinePhase;
using server::RequestTrace;
using Kind = TimelinePhase::Kind;

constexpr telemetry::TraceId kCallersTrace = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constexpr telemetry::SpanId kCallersSpan = {8, 7, 6, 5, 4, 3, 2, 1};

// "NAME KIND [failed: MESSAGE] KEY=VALUE...", without ids and times.
std::string Told(const telemetry::Span& span) {
  std::string out = fmt::format("{} {}", span.name, static_cast<int>(span.kind));
  if (span.failed) out += " failed";
  if (!span.message.empty()) out += ": " + span.message;
  for (const auto& attribute : span.attributes) {
    out += " " + attribute.key + "=";
    std::visit([&](const auto& value) { out += fmt::format("{}", value); }, attribute.value);
  }
  return out;
}

scheduler::Finish Ended(FinishReason reason, std::vector<TimelinePhase> phases = {}) {
  scheduler::Finish out;
  out.reason = reason;
  out.phases = std::move(phases);
  return out;
}

double SecondsBetween(telemetry::SpanTime from, telemetry::SpanTime to) {
  return std::chrono::duration<double>(to - from).count();
}

RequestTrace Traced(std::string_view route = "/v1/chat/completions") { return {{}, 100, "POST", route, "req_1"}; }

TEST(RequestTraceTest, ARouteHasTheOperationOfTheConventions) {
  const auto name = [](std::string_view route) {
    auto trace = Traced(route);
    trace.Note({"model", "m"});
    return trace.End(200).at(0).name;
  };
  for (const char* route : {"/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat"}) {
    EXPECT_EQ(name(route), "chat m") << route;
  }
  for (const char* route : {"/v1/completions", "/api/generate", "/infill"}) {
    EXPECT_EQ(name(route), "text_completion m") << route;
  }
  for (const char* route : {"/v1/embeddings", "/api/embed", "/api/embeddings"}) {
    EXPECT_EQ(name(route), "embeddings m") << route;
  }
  EXPECT_EQ(name("/rerank"), "/rerank") << "no operation of the conventions";
}

TEST(RequestTraceTest, TheSpanOfARequestSaysWhatIsKnownOfIt) {
  auto trace = Traced();
  trace.Note({"key", "k"});
  trace.Note({"model", "m"});
  trace.Note({"prompt_tokens", "12"});
  trace.Note({"completion_tokens", "34"});
  trace.Note({"cached_tokens", "5"});
  trace.AddGeneration(Ended(FinishReason::kStop));
  trace.AddGeneration(Ended(FinishReason::kLength));
  trace.AddGeneration(Ended(FinishReason::kCancelled));
  trace.AddGeneration(Ended(FinishReason::kError));
  const auto spans = trace.End(200);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(Told(spans[0]),
            "chat m 2 gen_ai.provider.name=inferflux http.request.method=POST http.route=/v1/chat/completions "
            "inferflux.request.id=req_1 gen_ai.operation.name=chat gen_ai.usage.input_tokens=12 "
            "gen_ai.usage.output_tokens=34 gen_ai.usage.cache_read.input_tokens=5 gen_ai.request.model=m "
            "gen_ai.response.model=m gen_ai.response.finish_reasons=[\"stop\", \"length\", \"cancelled\", \"error\"] "
            "http.response.status_code=200");
  EXPECT_GE(SecondsBetween(spans[0].begin, spans[0].end), 0);
  EXPECT_LT(SecondsBetween(spans[0].end, std::chrono::system_clock::now()), 60);

  auto plain = Traced("/rerank");
  EXPECT_EQ(Told(plain.End(200).at(0)),
            "/rerank 2 gen_ai.provider.name=inferflux http.request.method=POST http.route=/rerank "
            "inferflux.request.id=req_1 http.response.status_code=200");
}

TEST(RequestTraceTest, AFailureHasItsKindAndItsReason) {
  struct Case {
    int status;
    const char* reason;
    const char* head;
    const char* tail;  // behind the attributes of every request
  };
  for (const Case& c :
       {Case{0, "", " failed", " error.type=client_disconnected"}, Case{200, "", "", " http.response.status_code=200"},
        Case{200, "gone", " failed: gone", " http.response.status_code=200 error.type=stream_error"},
        Case{399, "gone", " failed: gone", " http.response.status_code=399 error.type=stream_error"},
        Case{400, "bad", ": bad", " http.response.status_code=400"},
        Case{499, "bad", ": bad", " http.response.status_code=499"},
        Case{500, "", " failed", " http.response.status_code=500 error.type=500"},
        Case{503, "busy", " failed: busy", " http.response.status_code=503 error.type=503"}}) {
    auto trace = Traced("/rerank");
    if (c.reason[0] != '\0') trace.Note({"reason", c.reason});
    EXPECT_EQ(Told(trace.End(c.status).at(0)),
              fmt::format("/rerank 2{} gen_ai.provider.name=inferflux http.request.method=POST http.route=/rerank "
                          "inferflux.request.id=req_1{}",
                          c.head, c.tail));
  }
}

TEST(RequestTraceTest, PhasesOfAKindAreOneSpanWithTheirTokensAndSteps) {
  auto trace = Traced();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the request arrives after its trace began
  trace.AddGeneration(Ended(FinishReason::kStop, {{Kind::kQueued, 0.001, 0.004, 0, 0},
                                                  {Kind::kPrefill, 0.004, 0.010, 100, 2},
                                                  {Kind::kDecode, 0.010, 0.015, 7, 3},
                                                  {Kind::kPreempted, 0.015, 0.018, 0, 0},
                                                  {Kind::kPrefill, 0.018, 0.020, 30, 1},
                                                  {Kind::kDecode, 0.020, 0.030, 11, 5},
                                                  {Kind::kWaiting, 0.030, 0.040, 0, 0}}));
  const auto spans = trace.End(200);
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(Told(spans[1]), "queue 1");
  EXPECT_EQ(Told(spans[2]), "prefill 1 inferflux.tokens=130 inferflux.steps=3");
  EXPECT_EQ(Told(spans[3]), "decode 1 inferflux.tokens=18 inferflux.steps=8");
  const auto arrived = spans[1].begin - std::chrono::milliseconds(1);
  const double near = 1e-6;
  EXPECT_NEAR(SecondsBetween(arrived, spans[1].end), 0.004, near);
  EXPECT_NEAR(SecondsBetween(arrived, spans[2].begin), 0.004, near);
  EXPECT_NEAR(SecondsBetween(arrived, spans[2].end), 0.020, near);
  EXPECT_NEAR(SecondsBetween(arrived, spans[3].begin), 0.010, near);
  EXPECT_NEAR(SecondsBetween(arrived, spans[3].end), 0.030, near);
  EXPECT_GE(SecondsBetween(spans[0].begin, arrived), 0.009) << "50 ms of it, the last 40 of them are told";
  EXPECT_GE(SecondsBetween(arrived, spans[0].end), 0.040 - near) << "the last phase ended when it was told";
  for (size_t i = 1; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].trace, spans[0].trace);
    EXPECT_EQ(spans[i].parent, spans[0].id);
    EXPECT_NE(spans[i].id, spans[0].id);
    EXPECT_NE(spans[i].id, spans[i % 3 + 1].id);
  }
}

// The clocks of a scheduler in another process may differ a little.
TEST(RequestTraceTest, APhaseIsWithinItsRequest) {
  auto early = Traced();
  early.AddGeneration(Ended(FinishReason::kStop, {{Kind::kQueued, 0, 1, 0, 0}, {Kind::kDecode, 1, 3600, 1, 1}}));
  const auto spans = early.End(200);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[1].begin, spans[0].begin) << "it arrived before the trace began";
  EXPECT_EQ(spans[1].end, spans[0].begin);
  EXPECT_EQ(spans[2].begin, spans[0].begin);
  EXPECT_GE(spans[2].end, spans[0].begin);
  EXPECT_LE(spans[2].end, spans[0].end);

  auto late = Traced();
  late.AddGeneration(Ended(FinishReason::kStop, {{Kind::kDecode, 3600, 7200, 1, 1}, {Kind::kWaiting, 0, 0, 0, 0}}));
  const auto ahead = late.End(200);
  ASSERT_EQ(ahead.size(), 2u);
  EXPECT_EQ(ahead[1].begin, ahead[0].end);
  EXPECT_EQ(ahead[1].end, ahead[0].end);
}

TEST(RequestTraceTest, OnlyTheFirstGenerationsAreTold) {
  auto trace = Traced();
  const std::vector<TimelinePhase> phases = {{Kind::kDecode, 0, 1, 1, 1}};
  for (size_t i = 0; i < RequestTrace::kMostGenerations - 1; ++i)
    trace.AddGeneration(Ended(FinishReason::kStop, phases));
  trace.AddGeneration(Ended(FinishReason::kLength, phases));
  trace.AddGeneration(Ended(FinishReason::kError, phases));
  const auto spans = trace.End(200);
  ASSERT_EQ(spans.size(), 1 + RequestTrace::kMostGenerations);
  std::vector<std::string> reasons;
  for (const auto& attribute : spans[0].attributes) {
    if (attribute.key == "gen_ai.response.finish_reasons") reasons = std::get<2>(attribute.value);
  }
  ASSERT_EQ(reasons.size(), RequestTrace::kMostGenerations);
  EXPECT_EQ(reasons.back(), "length");
}

TEST(RequestTraceTest, ACallersTraceGoesOn) {
  for (const int percent : {0, 100}) {
    RequestTrace goes_on(telemetry::TraceContext{kCallersTrace, kCallersSpan, true}, percent, "GET", "/x", "r");
    EXPECT_TRUE(goes_on.sampled()) << percent;
    EXPECT_EQ(goes_on.trace_id(), telemetry::ToHex(kCallersTrace));
    const auto spans = goes_on.End(200);
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].trace, kCallersTrace);
    EXPECT_EQ(spans[0].parent, kCallersSpan);
    EXPECT_NE(spans[0].id, kCallersSpan);
    EXPECT_EQ(goes_on.trace_parent(),
              "00-" + telemetry::ToHex(kCallersTrace) + "-" + telemetry::ToHex(spans[0].id) + "-01");

    RequestTrace unrecorded(telemetry::TraceContext{kCallersTrace, kCallersSpan, false}, percent, "GET", "/x", "r");
    EXPECT_FALSE(unrecorded.sampled()) << percent;
    EXPECT_EQ(unrecorded.trace_parent().substr(0, 36), "00-" + telemetry::ToHex(kCallersTrace) + "-");
    EXPECT_TRUE(unrecorded.trace_parent().ends_with("-00"));
    unrecorded.AddGeneration(Ended(FinishReason::kStop, {{Kind::kDecode, 0, 1, 1, 1}}));
    unrecorded.Note({"model", "m"});
    EXPECT_TRUE(unrecorded.End(200).empty());
  }
}

TEST(RequestTraceTest, ATraceThatBeginsHereIsRecordedByItsShare) {
  RequestTrace none({}, 0, "GET", "/x", "r");
  EXPECT_FALSE(none.sampled());
  EXPECT_TRUE(none.End(200).empty());
  RequestTrace all({}, 100, "GET", "/x", "r");
  EXPECT_TRUE(all.sampled());
  EXPECT_NE(all.trace_id(), none.trace_id());
  const auto spans = all.End(200);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].parent, std::nullopt);
  EXPECT_EQ(telemetry::ToHex(spans[0].trace), all.trace_id());
  EXPECT_NE(spans[0].trace, telemetry::TraceId{});
}

}  // namespace
}  // namespace inferflux::testing
