#include "keys/limits.h"

#include <charconv>
#include <system_error>

namespace inferflux::keys {
namespace {

constexpr LimitRow kRows[] = {
    {"running", "--running", &Limits::running, 1 << 16, "sequences that a model runs at once; further ones wait"},
    {"queued", "--queued", &Limits::queued, 1 << 20, "sequences that wait for a model"},
    {"body_bytes", "--body-bytes", &Limits::body_bytes, int64_t{1} << 40, "bytes of request bodies in memory at once"},
    {"connections", "--connections", &Limits::connections, 1 << 20,
     "connections of an address; of a key: those with a request at once"},
    {"preparations", "--preparations", &Limits::preparations, 64,
     "requests that are rendered, tokenised and compiled at once; further ones wait"},
    {"tokens_per_minute", "--tokens-per-minute", &Limits::tokens_per_minute, int64_t{1} << 40,
     "tokens that are computed for it, without cached ones"},
};

}  // namespace

std::span<const LimitRow> LimitRows() { return kRows; }

Limits Over(const Limits& own, const Limits& usual) {
  Limits out = usual;
  for (const LimitRow& row : kRows) {
    if (own.*row.value) out.*row.value = own.*row.value;
  }
  return out;
}

std::optional<int64_t> ParseLimit(std::string_view text, int64_t max) {
  int64_t out = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  if (text.empty() || error != std::errc() || rest != end || out < 0 || out > max) return std::nullopt;
  return out;
}

}  // namespace inferflux::keys
