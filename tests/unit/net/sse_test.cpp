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

TEST(SseTest, OnlyNamesAndDataCountAndOneSpaceIsDropped) {
  EXPECT_EQ(Parse("event: e\n\ndata: x\n\n", 100), (std::vector<std::string>{"|x"})) << "an event has data";
  EXPECT_EQ(Parse("data:  two\ndatabase: x\n: data: y\nevents: z\n\n", 100), (std::vector<std::string>{"| two"}));
  EXPECT_EQ(Parse("event: a\ndata: 1\n\ndata: 2\n\n", 100), (std::vector<std::string>{"a|1", "|2"}));
  EXPECT_EQ(Parse("\n\ndata\ndata:\n\n", 1), (std::vector<std::string>{"|\n"}));
  std::string out = "before";
  AppendSseData(out, "x");
  EXPECT_EQ(out, "beforedata: x\n\n");
}

// What the parser says to a line of this many bytes after an event's data of that many.
std::string Fed(size_t data, size_t line) {
  SseParser parser;
  const auto ignore = [](const SseParser::Event&) {};
  if (data > 0) {
    EXPECT_TRUE(parser.Feed("data:" + std::string(data, 'd') + "\n", ignore));
  }
  const Status fed = parser.Feed(std::string(line, 'x'), ignore);
  return fed ? "" : fed.error().message;
}

TEST(SseTest, AnEventWithoutEndIsAnError) {
  constexpr size_t kMost = SseParser::kMaxEventBytes;
  const std::string refusal = "the server sent an event of more than 16777216 bytes";
  EXPECT_EQ(Fed(0, kMost), "");
  EXPECT_EQ(Fed(0, kMost + 1), refusal);
  EXPECT_EQ(Fed(kMost / 2, kMost / 2), "");
  EXPECT_EQ(Fed(kMost / 2, kMost / 2 + 1), refusal);
}

}  // namespace
}  // namespace inferflux::net
