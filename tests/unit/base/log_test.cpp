// What reaches standard error.
#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

namespace inferflux::log {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override {
    SetLevel(Level::kWarning);
    SetFormat(Format::kText);
    SetProcessFields({});
  }

  static std::string Logged(const std::function<void()>& body) {
    ::testing::internal::CaptureStderr();
    body();
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(LogTest, ALevelHasItsOwnLinesAndThoseAbove) {
  const std::pair<Level, const char*> levels[] = {
      {Level::kDebug, "DIWE"}, {Level::kInfo, "IWE"}, {Level::kWarning, "WE"}, {Level::kError, "E"}};
  for (const auto& [level, written] : levels) {
    const std::string text = Logged([&] {
      SetLevel(level);
      Debug("D{}", 0);
      Info("I{}", 0);
      Warning("W{}", 0);
      Error("E{}", 0);
    });
    std::string begins;
    for (const char* line : {" debug D0\n", " info I0\n", " warning W0\n", " error E0\n"}) {
      if (text.find(line) != std::string::npos) begins += std::string(line).substr(std::string(line).size() - 3, 1);
    }
    EXPECT_EQ(begins, written) << text;
  }
}

// In a process of its own: no other test has set a level.
TEST_F(LogTest, AProgramThatSetsNothingHearsOfWarnings) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Info("a fact");
        Warning("a worry");
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), AllOf(HasSubstr(" warning a worry"), Not(HasSubstr("a fact"))));
}

TEST_F(LogTest, ALineOfTextHasItsTimeItsLevelAndTheFieldsOfTheProcess) {
  const std::string text = Logged([] {
    SetProcessFields({{"worker_id", "w1"}});
    Write(Level::kError, "it failed", {{"why", "no space"}, {"ms", "5", true}});
  });
  EXPECT_THAT(text, MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} error it failed "
                                 "worker_id=w1 why=\"no space\" ms=5\n"));
}

TEST_F(LogTest, ALineOfJsonIsOneObject) {
  const std::string text = Logged([] {
    SetFormat(Format::kJson);
    SetProcessFields({{"worker_id", "w1"}});
    Write(Level::kWarning, "a \"word\"", {{"ms", "5", true}});
    SetFormat(Format::kText);
    SetProcessFields({});
    Warning("plain again");
  });
  EXPECT_THAT(text, MatchesRegex("\\{\"time\":\"[0-9-]{10}T[0-9:.]{12}[+-][0-9:]{5}\",\"level\":\"warning\","
                                 "\"message\":\"a ..word..\",\"worker_id\":\"w1\",\"ms\":5\\}\n"
                                 "[0-9T:.-]{23} warning plain again\n"));
}

TEST_F(LogTest, LevelsAndFormatsAreReadByTheirNames) {
  EXPECT_EQ(ParseLevel("debug"), Level::kDebug);
  EXPECT_EQ(ParseLevel("info"), Level::kInfo);
  EXPECT_EQ(ParseLevel("warning"), Level::kWarning);
  EXPECT_EQ(ParseLevel("error"), Level::kError);
  EXPECT_EQ(ParseFormat("text"), Format::kText);
  EXPECT_EQ(ParseFormat("json"), Format::kJson);
  const auto level = ParseLevel("warn");
  ASSERT_FALSE(level);
  EXPECT_EQ(level.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(level.error().message, "unknown log level 'warn': use debug, info, warning or error");
  const auto format = ParseFormat("xml");
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().message, "unknown log format 'xml': use text or json");
}

}  // namespace
}  // namespace inferflux::log
