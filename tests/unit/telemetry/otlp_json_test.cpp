#include "telemetry/otlp_json.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/version/version.h"

namespace inferflux::telemetry {
namespace {

TEST(OtlpJsonTest, ASpanHasHexadecimalIdsAndNumbersAsStrings) {
  Span span{.name = "chat \"tiny\"", .kind = Span::Kind::kServer};
  span.trace.fill(0xab);
  span.id.fill(0x01);
  span.parent.emplace().fill(0x02);
  span.begin = SpanTime(std::chrono::milliseconds(1'700'000'000'123));
  span.end = span.begin + std::chrono::milliseconds(5);
  span.attributes = {{"text", "a"}, {"number", int64_t{1} << 60}, {"list", std::vector<std::string>{"x", "y"}}};
  span.failed = true;
  span.message = "why";
  const std::string version = R"({"stringValue":")" + std::string(kVersion) + R"("})";
  const std::string resource = R"({"resourceSpans":[{"resource":{"attributes":[)"
                               R"({"key":"service.name","value":{"stringValue":"mine"}},)"
                               R"({"key":"service.version","value":)" +
                               version + R"(}]},"scopeSpans":[{"scope":{"name":"inferflux","version":")" + kVersion +
                               R"("},"spans":[)";
  const std::string failed =
      R"({"traceId":"abababababababababababababababab","spanId":"0101010101010101","parentSpanId":"0202020202020202",)"
      R"("name":"chat \"tiny\"","kind":2,"startTimeUnixNano":"1700000000123000000",)"
      R"("endTimeUnixNano":"1700000000128000000","attributes":[{"key":"text","value":{"stringValue":"a"}},)"
      R"({"key":"number","value":{"intValue":"1152921504606846976"}},)"
      R"({"key":"list","value":{"arrayValue":{"values":[{"stringValue":"x"},{"stringValue":"y"}]}}}],)"
      R"("status":{"code":2,"message":"why"}})";
  EXPECT_EQ(OtlpJson("mine", std::span(&span, 1)), resource + failed + "]}]}]}");

  Span root{.name = "root"};
  root.trace.fill(0x10);
  root.id.fill(0x0f);
  const std::string whole =
      R"({"traceId":"10101010101010101010101010101010","spanId":"0f0f0f0f0f0f0f0f","name":"root","kind":1,)"
      R"("startTimeUnixNano":"0","endTimeUnixNano":"0","attributes":[]})";
  EXPECT_EQ(OtlpJson("mine", std::vector{root, span}), resource + whole + "," + failed + "]}]}]}");
  EXPECT_EQ(OtlpJson("mine", {}), resource + "]}]}]}");
}

}  // namespace
}  // namespace inferflux::telemetry
