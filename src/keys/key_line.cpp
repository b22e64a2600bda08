#include "keys/key_line.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

namespace inferflux::keys {
namespace {

constexpr size_t kMaxName = 64;
constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

std::optional<Hash> ParseHash(std::string_view digits) {
  Hash out;
  if (digits.size() != 2 * out.size()) return std::nullopt;
  for (size_t i = 0; i < out.size(); ++i) {
    const char* begin = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, out[i], 16);
    if (error != std::errc() || end != begin + 2) return std::nullopt;
  }
  return out;
}

// A number of exactly `digits` digits at `at`; -1 if there is none.
int Number(std::string_view text, size_t at, size_t digits) {
  if (text.size() < at + digits) return -1;
  int out = 0;
  for (const char c : text.substr(at, digits)) {
    if (c < '0' || c > '9') return -1;
    out = 10 * out + (c - '0');
  }
  return out;
}

Status TakeOption(std::string_view word, KeyLine& key) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  if (name == "name") {
    if (!IsKeyName(value)) {
      return Fail(ErrorCode::kInvalidArgument, "'{}' is not a valid name: use at most {} letters, digits and ._-",
                  value, kMaxName);
    }
    key.name = value;
    return {};
  }
  if (name == "expires") {
    key.expires = ParseTime(value);
    if (!key.expires) {
      return Fail(ErrorCode::kInvalidArgument, "'{}' is not a time; write 2027-01-31 or 2027-01-31T12:00:00Z", value);
    }
    return {};
  }
  for (const LimitRow& row : LimitRows()) {
    if (name != row.name) continue;
    const auto limit = ParseLimit(value, row.max);
    if (!limit) {
      return Fail(ErrorCode::kInvalidArgument, "'{}' is not a whole number from 0 (no limit) to {}", word, row.max);
    }
    key.limits.*row.value = limit;
    return {};
  }
  std::string names;
  for (const LimitRow& row : LimitRows()) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return Fail(ErrorCode::kInvalidArgument,
              "'{}' is not name=NAME, expires=TIME or a limit, such as queued=8; limits are {}", word, names);
}

std::string CommentOf(std::string_view line) {
  const size_t mark = line.find('#');
  if (mark == std::string_view::npos) return {};
  line.remove_prefix(mark + 1);
  const size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  const size_t last = line.find_last_not_of(" \t\r");
  return std::string(line.substr(first, std::min(kMaxName, last + 1 - first)));
}

}  // namespace

Hash HashOf(std::string_view key) {
  Hash out;
  EVP_Digest(key.data(), key.size(), out.data(), nullptr, EVP_sha256(), nullptr);
  return out;
}

std::string ToHex(const Hash& hash) {
  std::string out;
  for (const uint8_t byte : hash) out += fmt::format("{:02x}", byte);
  return out;
}

bool IsKeyName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && text.find_first_not_of(kNameCharacters) == std::string_view::npos;
}

std::optional<Time> ParseTime(std::string_view text) {
  using namespace std::chrono;
  const bool day_only = text.size() == 10;
  if (!day_only && (text.size() != 20 || text[10] != 'T' || text[13] != ':' || text[16] != ':' || text[19] != 'Z')) {
    return std::nullopt;
  }
  const int y = Number(text, 0, 4), m = Number(text, 5, 2), d = Number(text, 8, 2);
  if (y < 0 || m < 0 || d < 0 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const year_month_day date{year(y), month(static_cast<unsigned>(m)), day(static_cast<unsigned>(d))};
  if (!date.ok()) return std::nullopt;
  if (day_only) return sys_days(date);
  const int hour = Number(text, 11, 2), minute = Number(text, 14, 2), second = Number(text, 17, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return std::nullopt;
  return sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
}

std::string FormatTime(Time time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

Result<std::optional<KeyLine>> ParseKeyLine(std::string_view line) {
  std::istringstream words{std::string(line.substr(0, line.find('#')))};
  std::string word;
  if (!(words >> word)) return std::optional<KeyLine>();
  KeyLine out;
  const auto hash = ParseHash(word);
  if (!hash) {
    return Fail(ErrorCode::kInvalidArgument,
                "not a SHA-256 hash of 64 hexadecimal digits; make one with: printf %s KEY | sha256sum");
  }
  out.hash = *hash;
  out.comment = CommentOf(line);
  bool first = true;
  while (words >> word) {
    if (std::exchange(first, false) && word.find('=') == std::string::npos) {
      if (word == "-") continue;  // as sha256sum writes it
      const auto scopes = ParseScopes(word);
      if (!scopes) {
        return Fail(ErrorCode::kInvalidArgument, "'{}' is not a list of scopes; they are {}", word,
                    NamesOf(kEveryScope));
      }
      out.scopes = *scopes;
    } else if (Status taken = TakeOption(word, out); !taken) {
      return Forward(taken);
    }
  }
  return std::optional(std::move(out));
}

bool IsExpired(const KeyLine& key) { return key.expires && std::chrono::system_clock::now() >= *key.expires; }

std::string FormatKeyLine(const KeyLine& key) {
  std::string out = ToHex(key.hash) + " " + NamesOf(key.scopes);
  if (!key.name.empty()) out += " name=" + key.name;
  if (key.expires) out += " expires=" + FormatTime(*key.expires);
  for (const LimitRow& row : LimitRows()) {
    if (const auto& limit = key.limits.*row.value) out += fmt::format(" {}={}", row.name, *limit);
  }
  return out;
}

}  // namespace inferflux::keys
