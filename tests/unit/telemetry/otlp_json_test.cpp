#include "telemetry/otlp_json.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

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
  const auto all = boost::json::parse(OtlpJson("mine", std::span(&span, 1)));
  const auto& resource = all.at("resourceSpans").at(0);
  EXPECT_EQ(resource.at("resource").at("attributes").at(0).at("value").at("stringValue"), "mine");
  const auto& out = resource.at("scopeSpans").at(0).at("spans").at(0);
  EXPECT_EQ(out.at("traceId"), "abababababababababababababababab");
  EXPECT_EQ(out.at("spanId"), "0101010101010101");
  EXPECT_EQ(out.at("parentSpanId"), "0202020202020202");
  EXPECT_EQ(out.at("name"), "chat \"tiny\"");
  EXPECT_EQ(out.at("kind"), 2);
  EXPECT_EQ(out.at("startTimeUnixNano"), "1700000000123000000");
  EXPECT_EQ(out.at("endTimeUnixNano"), "1700000000128000000");
  EXPECT_EQ(out.at("attributes").at(1).at("value").at("intValue"), "1152921504606846976");
  EXPECT_EQ(out.at("attributes").at(2).at("value").at("arrayValue").at("values").at(1).at("stringValue"), "y");
  EXPECT_EQ(out.at("status").at("code"), 2);
  EXPECT_EQ(out.at("status").at("message"), "why");
}

}  // namespace
}  // namespace inferflux::telemetry
