#include "server/request/request_deadline.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace inferflux::server {
namespace {

constexpr const char* kTimeoutHeader = "X-Request-Timeout";
constexpr double kShortestTimeout = 0.001;
constexpr double kLongestTimeout = 86'400;

}  // namespace

Deadline Earlier(const Deadline& a, const Deadline& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

ApiResult<Deadline> DeadlineOf(const net::Request& request, std::chrono::seconds most) {
  const auto now = std::chrono::steady_clock::now();
  Deadline out;
  if (most.count() > 0) out = now + most;
  const std::string_view text = net::FindHeader(request.headers, kTimeoutHeader);
  if (text.empty()) return out;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(seconds >= kShortestTimeout && seconds <= kLongestTimeout)) {
    return RefuseAs("invalid_value", kTimeoutHeader,
                    fmt::format("the header {} must be a number of seconds from {} to {}", kTimeoutHeader,
                                kShortestTimeout, kLongestTimeout));
  }
  return Earlier(out,
                 now + std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds)));
}

}  // namespace inferflux::server
