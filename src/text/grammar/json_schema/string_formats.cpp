#include "text/grammar/json_schema/string_formats.h"

#include <algorithm>

namespace inferflux::text {
namespace {

// RFC 3339, with the right number of days for each month.
const std::string kDate =
    "(?:[1-9]\\d{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|"
    "1\\d|2[0-8]))"
    "|(?:[1-9]\\d(?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[13579][26])00)-02-29)";
const std::string kClock = "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?";
const std::string kOffset = "(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)";
const std::string kByte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const std::string kLabel = "[A-Za-z0-9]{1,12}(?:-[A-Za-z0-9]{1,12}){0,3}";
const std::string kHost = kLabel + "(?:\\." + kLabel + "){0,5}";
const std::string kPathChar = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
const std::string kPath = "(?:/" + kPathChar + "*)*";
const std::string kQuery = "(?:" + kPathChar + "|[/?])*";
const std::string kUri = "[A-Za-z][A-Za-z0-9+.-]{0,15}:(?://" + kHost + "(?::\\d{1,4})?" + kPath + "|" + kPathChar +
                         "+" + kPath + ")(?:\\?" + kQuery + ")?(?:#" + kQuery + ")?";
const std::string kEmail = "[A-Za-z0-9_+-]{1,32}(?:\\.[A-Za-z0-9_+-]{1,16}){0,3}@" + kHost + "\\.[A-Za-z]{2,12}";
const std::string kHours = "(?:\\d{1,4}H(?:\\d{1,4}M(?:\\d{1,4}S)?)?|\\d{1,4}M(?:\\d{1,4}S)?|\\d{1,4}S)";
const std::string kDays = "(?:\\d{1,4}Y(?:\\d{1,4}M(?:\\d{1,4}D)?)?|\\d{1,4}M(?:\\d{1,4}D)?|\\d{1,4}D)";

struct Known {
  std::string_view name;
  std::string pattern;
};

const Known kKnown[] = {
    {"date", kDate},
    {"time", kClock + kOffset},
    {"date-time", kDate + "T" + kClock + kOffset},
    {"duration", "P(?:\\d{1,4}W|" + kDays + "(?:T" + kHours + ")?|T" + kHours + ")"},
    {"uuid", "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"},
    {"email", kEmail},
    {"idn-email", kEmail},
    {"hostname", kHost},
    {"idn-hostname", kHost},
    {"ipv4", kByte + "(?:\\." + kByte + "){3}"},
    {"ipv6", "(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}"},
    {"uri", kUri},
    {"uri-reference", kUri},
    {"iri", kUri},
    {"iri-reference", kUri},
    {"json-pointer", "(?:/(?:[^/~]|~[01])*)*"},
};

constexpr std::string_view kRefusedFormats[] = {"regex", "relative-json-pointer", "uri-template"};

}  // namespace

StringFormat FindFormat(std::string_view format) {
  for (const Known& known : kKnown) {
    if (known.name == format) return {.known = true, .pattern = known.pattern};
  }
  return {.known = std::ranges::find(kRefusedFormats, format) == std::end(kRefusedFormats)};
}

std::string_view KnownFormats() {
  return "date, time, date-time, duration, uuid, email, hostname, ipv4, ipv6, uri and json-pointer";
}

}  // namespace inferflux::text
