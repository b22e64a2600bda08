#include "net/sse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace inferflux::net {
namespace {

// Feeds `bytes` in pieces of `step` and returns "name|data" of each event.
std::vector<std::string> Parse(std::string_view bytes, size_t step) {
  SseParser parser;
  std::vector<std::string> out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    const Status fed = parser.Feed(
        bytes.substr(at, step), [&](const SseParser::Event& event) { out.push_back(event.name + "|" + event.data); });
    EXPECT_TRUE(fed.has_value());
  }
  return out;
}

TEST(SseTest, WhatIsWrittenIsReadBackHoweverItIsCut) {
  std::string stream;
  AppendSseData(stream, R"({"a":"b: c"})");
  AppendSseData(stream, "[DONE]");
  for (size_t step = 1; step <= stream.size(); ++step) {
    EXPECT_EQ(Parse(stream, step), (std::vector<std::string>{R"(|{"a":"b: c"})", "|[DONE]"})) << step;
  }
}

TEST(SseTest, AllThreeLineEndsCommentsAndMultipleDataLines) {
  const std::string stream = ": hi\r\nevent: e\r\ndata:a\r\ndata: b\r\n\r\ndata: c\r\rid: 7\ndata\n\nretry: 1\n\n";
  for (size_t step : {1u, 2u, 3u, 100u}) {
    EXPECT_EQ(Parse(stream, step), (std::vector<std::string>{"e|a\nb", "|c", "|"})) << step;
  }
}

TEST(SseTest, AnEventWithoutEndIsAnError) {
  SseParser parser;
  const std::string piece(1u << 20, 'x');
  Status status;
  for (int i = 0; i < 17 && status; ++i) status = parser.Feed(piece, [](const SseParser::Event&) {});
  EXPECT_FALSE(status.has_value());
}

}  // namespace
}  // namespace inferflux::net
