// One line of a file of API keys. A file holds hashes only: who reads it cannot call the server.
//
//   SHA256 [SCOPES] [name=NAME] [expires=TIME] [LIMIT=NUMBER...]   # a comment
//
// SHA256 is that of the key, in 64 hexadecimal digits (`printf %s KEY | sha256sum` makes such a line: a dash in place
// of the scopes means none are named). TIME is a day or a time in UTC: 2027-01-31 or 2027-01-31T12:00:00Z; from then on
// the key is refused. LIMIT is a name of keys/limits.h, such as tokens_per_minute; 0 means none.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "keys/limits.h"
#include "keys/scope.h"

namespace inferflux::keys {

using Hash = std::array<uint8_t, 32>;
using Time = std::chrono::sys_seconds;

struct KeyLine {
  Hash hash{};
  Scopes scopes = kUsualScopes;
  std::string name;             // empty: none; else letters, digits and ._-
  std::optional<Time> expires;  // empty: never
  Limits limits;
  std::string comment;  // what follows '#', at most 64 bytes of it
};

// SHA-256.
Hash HashOf(std::string_view key);
std::string ToHex(const Hash& hash);

// Empty if the line holds nothing but a comment. kInvalidArgument names the word that is wrong.
Result<std::optional<KeyLine>> ParseKeyLine(std::string_view line);
// The line that ParseKeyLine reads as `key`, without a line break.
std::string FormatKeyLine(const KeyLine& key);

// "2027-01-31" (its midnight) or "2027-01-31T12:00:00Z".
std::optional<Time> ParseTime(std::string_view text);
std::string FormatTime(Time time);

// By this machine's clock.
bool IsExpired(const KeyLine& key);

// Whether a key may have that name.
bool IsKeyName(std::string_view text);

}  // namespace inferflux::keys
