// strftime_now against the C library's strftime, whose directives and flags it has.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <ctime>

#include "text/jinja/render.h"

namespace inferflux::text {
namespace {

using std::chrono::sys_seconds;

constexpr const char* kFormat =
    "%a|%A|%b|%h|%B|%c|%C|%d|%D|%x|%e|%F|%g|%G|%H|%I|%j|%k|%l|%m|%M|%n|%p|%P|%r|%R|%s|%S|%t|%T|%X|%u|%U|%V|%w|%W|%y|%Y|"
    "%%|"
    "%-d|%_d|%0e|%-j|%_H|%-I|%0k|%-m|%_M|%-u|%-V|%_W|%-y";

class Strftime : public ::testing::Test {
 protected:
  std::string Ours(sys_seconds time) {
    const auto spans = template_.Render({}, {.now = time});
    return spans ? JoinSpans(*spans) : spans.error().message;
  }
  static std::string Libraries(sys_seconds time) {
    const std::time_t seconds = time.time_since_epoch().count();
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 1024> out{};
    return {out.data(), std::strftime(out.data(), out.size(), kFormat, &parts)};
  }

  ChatTemplate template_ = ChatTemplate::Compile(std::string("{{ strftime_now('") + kFormat + "') }}").value();
};

TEST_F(Strftime, IsTheCLibrarysOnEachDay) {
  using std::chrono::days;
  using std::chrono::hours;
  const sys_seconds first = std::chrono::sys_days(std::chrono::year(2000) / 1 / 1);
  for (int day = 0; day < 366 * 9; ++day) {
    const sys_seconds time = first + days(day) + hours(day % 24) + std::chrono::seconds(day % 3600);
    ASSERT_EQ(Ours(time), Libraries(time)) << time.time_since_epoch().count();
  }
}

// ISO 8601's weeks, where the year of a week is another one than the day's.
TEST_F(Strftime, IsTheCLibrarysAroundEachNewYear) {
  for (int year = 1880; year < 2130; ++year) {
    for (int day = -8; day < 8; ++day) {
      const sys_seconds time = std::chrono::sys_days(std::chrono::year(year) / 1 / 1) + std::chrono::days(day);
      ASSERT_EQ(Ours(time), Libraries(time)) << year << ", " << day;
    }
  }
}

TEST_F(Strftime, WhatIsNoDirectiveIsNamed) {
  const auto said = [](const std::string& format) {
    const auto text = RenderText("{{ strftime_now('" + format + "') }}", {}, {.now = sys_seconds()});
    return text ? *text : text.error().message;
  };
  EXPECT_EQ(said("a%zb%Zc%f"), "abc000000");
  EXPECT_EQ(said("x%Q"), "chat template, line 1: strftime has no directive '%Q'");
  EXPECT_EQ(said("x%Qyz"), "chat template, line 1: strftime has no directive '%Q'");
  EXPECT_EQ(said("%-"), "chat template, line 1: strftime has no directive '%-'");
  EXPECT_EQ(said("%"), "chat template, line 1: strftime has no directive '%'");
  EXPECT_EQ(said(""), "");
}

}  // namespace
}  // namespace inferflux::text
