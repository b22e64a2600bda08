// What one client may take of a server at once or a minute: a key, or an address where no keys are required. A key's
// own limits override the server's (the settings limits.*). The table below is the one list of them: the words of a
// key's line, the flags of `inferctl keys create` and the names of the settings follow from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace inferflux::keys {

struct Limits {
  // 0: no limit. Empty: the server's.
  std::optional<int64_t> running;
  std::optional<int64_t> queued;
  std::optional<int64_t> body_bytes;
  std::optional<int64_t> connections;
  std::optional<int64_t> preparations;
  std::optional<int64_t> tokens_per_minute;

  bool operator==(const Limits&) const = default;
};

struct LimitRow {
  std::string_view name;  // in a key's line; `limits.NAME` is the setting
  std::string_view flag;  // of inferctl keys create
  std::optional<int64_t> Limits::*value;
  int64_t max;
  std::string_view help;
};

std::span<const LimitRow> LimitRows();

// Each limit of `own`, or that of `usual` where it has none.
Limits Over(const Limits& own, const Limits& usual);

// A whole number from 0 to `max`.
std::optional<int64_t> ParseLimit(std::string_view text, int64_t max);

}  // namespace inferflux::keys
