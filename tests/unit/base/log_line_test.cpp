#include "base/log_line.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

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

// Each bound of RFC 3629's table: what is just inside stays, and each byte of what is just outside is replaced.
TEST(LogLine, JsonKeepsExactlyWhatIsUtf8) {
  const auto logged = [](std::string_view text) { return MakeLine(Format::kJson, text, {}, {}).substr(10); };
  for (const std::string_view valid :
       {"\x7F~", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xE1\x80\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80", "\xF1\x80\x80\x80", "\xF3\xBF\xBF\xBF", "\xF4\x8F\xBF\xBF"}) {
    const std::string kept = valid[0] == '\x7F' ? "\\u007f~" : std::string(valid);
    EXPECT_EQ(logged(valid), '"' + kept + '"');
  }
  for (const std::string_view wrong :
       {"\x80", "\xC1\x80", "\xC2", "\xC2\xC0", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE1\x80", "\xE1\x80\xC0",
        "\xE1\xC0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF1\x80\x80", "\xF1\x80\x80\xC0",
        "\xF1\x80\xC0\x80", "\xF1\xC0\x80\x80", "\xFF"}) {
    std::string replaced;
    for (size_t i = 0; i < wrong.size(); ++i) replaced += "\uFFFD";
    EXPECT_EQ(logged(wrong), '"' + replaced + '"');
  }
}

TEST(LogLine, OnlyControlCharactersAreEscaped) {
  EXPECT_EQ(MakeLine(Format::kText, "m", {}, {{"k", std::string("\x01\x1F!~\x7F\x80\x00", 7)}}),
            "m k=\\x01\\x1f!~\\x7f\x80\\x00");
  EXPECT_EQ(MakeLine(Format::kJson, "\x1F \x7F", {}, {}), R"("message":"\u001f \u007f")");
}

}  // namespace
}  // namespace inferflux::log
