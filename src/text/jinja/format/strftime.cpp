#include "text/jinja/format/strftime.h"

#include <array>
#include <string>
#include <string_view>

#include "text/jinja/value/python_characters.h"

namespace inferflux::text::jinja {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};

struct Clock {
  explicit Clock(std::chrono::sys_seconds time) {
    const auto days = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(days);
    const auto seconds = (time - days).count();
    year = static_cast<int>(date.year());
    month = static_cast<int>(static_cast<unsigned>(date.month()));
    day = static_cast<int>(static_cast<unsigned>(date.day()));
    weekday = static_cast<int>(std::chrono::weekday(days).c_encoding());
    year_day = static_cast<int>((days - std::chrono::sys_days(date.year() / 1 / 1)).count());
    hour = static_cast<int>(seconds / 3600);
    minute = static_cast<int>(seconds / 60 % 60);
    second = static_cast<int>(seconds % 60);
    epoch = time.time_since_epoch().count();
  }

  // The ISO 8601 year and week.
  std::pair<int, int> IsoWeek() const {
    const int monday_based = (weekday + 6) % 7;
    const int week = (year_day - monday_based + 10) / 7;
    if (week < 1) return {year - 1, WeeksOf(year - 1)};
    if (week > WeeksOf(year)) return {year + 1, 1};
    return {year, week};
  }
  static int WeeksOf(int year) {
    const auto last_weekday = [](int y) { return (y + y / 4 - y / 100 + y / 400) % 7; };
    return last_weekday(year) == 4 || last_weekday(year - 1) == 3 ? 53 : 52;
  }

  int year, month, day, weekday, year_day, hour, minute, second;
  int64_t epoch;
};

// `flag` is glibc's: '-' no padding, '_' spaces, '0' zeros, '\0' the directive's own.
std::string Padded(int64_t value, int width, char padding, char flag) {
  if (flag == '-') return fmt::format("{}", value);
  if (flag == '_') padding = ' ';
  if (flag == '0') padding = '0';
  return padding == ' ' ? fmt::format("{:{}}", value, width) : fmt::format("{:0{}}", value, width);
}

// Empty if there is no such directive.
std::string FormatDirective(const Clock& t, char directive, char flag) {
  const int hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  const auto number = [&](int64_t value, int width, char padding = '0') { return Padded(value, width, padding, flag); };
  const auto date = [&] { return fmt::format("{:02}/{:02}/{:02}", t.month, t.day, t.year % 100); };
  const auto time = [&] { return fmt::format("{:02}:{:02}:{:02}", t.hour, t.minute, t.second); };
  switch (directive) {
    case 'a':
      return std::string(kDays[static_cast<size_t>(t.weekday)].substr(0, 3));
    case 'A':
      return std::string(kDays[static_cast<size_t>(t.weekday)]);
    case 'b':
    case 'h':
      return std::string(kMonths[static_cast<size_t>(t.month - 1)].substr(0, 3));
    case 'B':
      return std::string(kMonths[static_cast<size_t>(t.month - 1)]);
    case 'c':
      return fmt::format("{} {} {:2} {} {}", FormatDirective(t, 'a', 0), FormatDirective(t, 'b', 0), t.day, time(),
                         t.year);
    case 'C':
      return number(t.year / 100, 2);
    case 'd':
      return number(t.day, 2);
    case 'D':
    case 'x':
      return date();
    case 'e':
      return number(t.day, 2, ' ');
    case 'f':
      return "000000";
    case 'F':
      return fmt::format("{}-{:02}-{:02}", t.year, t.month, t.day);
    case 'g':
      return number(t.IsoWeek().first % 100, 2);
    case 'G':
      return number(t.IsoWeek().first, 4);
    case 'H':
      return number(t.hour, 2);
    case 'I':
      return number(hour12, 2);
    case 'j':
      return number(t.year_day + 1, 3);
    case 'k':
      return number(t.hour, 2, ' ');
    case 'l':
      return number(hour12, 2, ' ');
    case 'm':
      return number(t.month, 2);
    case 'M':
      return number(t.minute, 2);
    case 'n':
      return "\n";
    case 'p':
      return t.hour < 12 ? "AM" : "PM";
    case 'P':
      return t.hour < 12 ? "am" : "pm";
    case 'r':
      return fmt::format("{:02}:{:02}:{:02} {}", hour12, t.minute, t.second, t.hour < 12 ? "AM" : "PM");
    case 'R':
      return fmt::format("{:02}:{:02}", t.hour, t.minute);
    case 's':
      return fmt::format("{}", t.epoch);
    case 'S':
      return number(t.second, 2);
    case 't':
      return "\t";
    case 'T':
    case 'X':
      return time();
    case 'u':
      return number(t.weekday == 0 ? 7 : t.weekday, 1);
    case 'U':
      return number((t.year_day + 7 - t.weekday) / 7, 2);
    case 'V':
      return number(t.IsoWeek().second, 2);
    case 'w':
      return number(t.weekday, 1);
    case 'W':
      return number((t.year_day + 7 - (t.weekday + 6) % 7) / 7, 2);
    case 'y':
      return number(t.year % 100, 2);
    case 'Y':
      return number(t.year, 1);
    case '%':
      return "%";
    default:
      return {};
  }
}

}  // namespace

Value FormatTime(Runtime& rt, const Str& format, std::chrono::sys_seconds time) {
  const Clock clock(time);
  const std::string_view text = format.view();
  TextBuilder out(rt);
  size_t at = 0;
  for (size_t percent = text.find('%'); percent != std::string_view::npos; percent = text.find('%', at)) {
    out.AppendSlice(format.text(), at, percent);
    at = percent + 1;
    char flag = '\0';
    if (at < text.size() && (text[at] == '-' || text[at] == '_' || text[at] == '0')) flag = text[at++];
    const char directive = at < text.size() ? text[at++] : '\0';
    if (directive == 'z' || directive == 'Z') continue;  // a time without a zone has neither
    const std::string printed = FormatDirective(clock, directive, flag);
    if (printed.empty()) Raise("strftime has no directive '{}'", Shorten(text.substr(percent, at - percent)));
    out.Append(printed, format.text().TrustedAt(percent));
  }
  out.AppendSlice(format.text(), at, text.size());
  return MakeStr(rt, out);
}

}  // namespace inferflux::text::jinja
