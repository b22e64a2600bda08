#include "base/log_line.h"

#include <gtest/gtest.h>

namespace inferflux::log {
namespace {

TEST(LogLine, TextHasTheMessageThenItsFields) {
  EXPECT_EQ(MakeLine(Format::kText, "request", {{"worker_id", "w1"}}, {{"path", "/v1"}, {"status", "200", true}}),
            "request worker_id=w1 path=/v1 status=200");
}

TEST(LogLine, TextOfAClientCannotBeginALine) {
  EXPECT_EQ(MakeLine(Format::kText, "request", {}, {{"path", "/a\nerror \x1b[31m"}}),
            "request path=\"/a\\x0aerror \\x1b[31m\"");
}

TEST(LogLine, TextSplitsIntoItsFieldsAgain) {
  EXPECT_EQ(MakeLine(Format::kText, "request", {}, {{"reason", R"('n' must be "1" \ or 2)"}, {"key", "al"}}),
            R"(request reason="'n' must be \"1\" \\ or 2" key=al)");
}

TEST(LogLine, JsonHasNumbersAsNumbersAndEscapesText) {
  EXPECT_EQ(MakeLine(Format::kJson, "a \"b\" \\ \n", {}, {{"ms", "1.5", true}, {"path", "/\x01"}}),
            R"("message":"a \"b\" \\ \u000a","ms":1.5,"path":"/\u0001")");
}

TEST(LogLine, JsonReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(MakeLine(Format::kJson, "\xC3\xA9\xFF\xE2\x82", {}, {}), "\"message\":\"\xC3\xA9\uFFFD\uFFFD\uFFFD\"");
}

}  // namespace
}  // namespace inferflux::log
