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

// Without limits on their parts, which short texts cannot exceed.
const std::string kShortLabel = "[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*";
const std::string kShortHost = kShortLabel + "(?:\\." + kShortLabel + ")*";
const std::string kShortEmail = "[A-Za-z0-9_+-]+(?:\\.[A-Za-z0-9_+-]+)*@(?:" + kShortLabel + "\\.)+[A-Za-z]{2,}";
const std::string kShortUri = "[A-Za-z][A-Za-z0-9+.-]*:(?://" + kShortHost + "(?::\\d{1,4})?" + kPath + "|" +
                              kPathChar + "+" + kPath + ")(?:\\?" + kQuery + ")?(?:#" + kQuery + ")?";

// RFC 4291: eight groups, or fewer of them and "::" once; the last two may be an IPv4 address.
std::string Ipv6() {
  const std::string group = "[0-9a-fA-F]{1,4}", ipv4 = kByte + "(?:\\." + kByte + "){3}";
  std::string out = "(?:" + group + ":){7}" + group + "|(?:" + group + ":){6}" + ipv4;
  for (int before = 0; before <= 7; ++before) {
    const std::string left = before == 0 ? "" : group + "(?::" + group + "){" + std::to_string(before - 1) + "}";
    const int after = 7 - before;
    out += "|" + left + "::";
    if (after > 0) out += "(?:" + group + "(?::" + group + "){0," + std::to_string(after - 1) + "})?";
  }
  return out;
}

// RFC 6570.
const std::string kVariable = "[A-Za-z0-9_]+(?:\\.[A-Za-z0-9_]+)*(?::[1-9]\\d{0,2}|\\*)?";
const std::string kTemplate =
    "(?:[A-Za-z0-9._~:/?#@!$&()*+,;=-]|%[0-9A-Fa-f]{2}|\\{[+#./;?&]?" + kVariable + "(?:," + kVariable + ")*\\})*";
const std::string kAny = "[\\x00-\\U0010FFFF]*";

struct Known {
  std::string_view name;
  std::string pattern;
  std::string form;
  std::string short_pattern = {};
};

const Known kKnown[] = {
    {"date", kDate, "\\d{4}-\\d\\d-\\d\\d"},
    {"time", kClock + kOffset, "\\d\\d:\\d\\d:\\d\\d" + kAny},
    {"date-time", kDate + "T" + kClock + kOffset, "\\d{4}-\\d\\d-\\d\\d" + kAny},
    {"duration", "P(?:\\d{1,4}W|" + kDays + "(?:T" + kHours + ")?|T" + kHours + ")", "P" + kAny},
    {"uuid", "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
     "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"},
    {"email", kEmail, kAny + "@" + kAny, kShortEmail},
    {"idn-email", kEmail, kAny + "@" + kAny, kShortEmail},
    {"hostname", kHost, "[A-Za-z0-9._-]*", kShortHost},
    {"idn-hostname", kHost, kAny, kShortHost},
    {"ipv4", kByte + "(?:\\." + kByte + "){3}", "[0-9.]*"},
    {"ipv6", Ipv6(), "[0-9a-zA-Z:.%]*"},
    {"uri", kUri, "[A-Za-z][A-Za-z0-9+.-]*:" + kAny, kShortUri},
    {"uri-reference", kUri, kAny, kShortUri},
    {"iri", kUri, "[A-Za-z][A-Za-z0-9+.-]*:" + kAny, kShortUri},
    {"iri-reference", kUri, kAny, kShortUri},
    {"json-pointer", "(?:/(?:[^/~]|~[01])*)*", "(?:/" + kAny + ")?"},
    {"relative-json-pointer", "(?:0|[1-9]\\d{0,3})(?:#|(?:/(?:[^/~]|~[01])*)*)", "\\d" + kAny},
    {"uri-template", kTemplate, kAny},
};

constexpr std::string_view kRefusedFormats[] = {"regex"};

}  // namespace

StringFormat FindFormat(std::string_view format) {
  for (const Known& known : kKnown) {
    if (known.name == format) {
      return {.known = true, .pattern = known.pattern, .short_pattern = known.short_pattern, .form = known.form};
    }
  }
  return {.known = std::ranges::find(kRefusedFormats, format) == std::end(kRefusedFormats)};
}

std::string_view KnownFormats() {
  return "date, time, date-time, duration, uuid, email, hostname, ipv4, ipv6, uri, uri-template, json-pointer and "
         "relative-json-pointer";
}

}  // namespace inferflux::text
