#include "apps/console/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace inferflux::apps {

ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()) {}

void ProgressBar::Show(uint64_t done, uint64_t total, std::string_view what) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || (now - drawn_ < std::chrono::milliseconds(100) && done < total)) return;
  drawn_ = now;
  constexpr int kWidth = 30;
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  const int filled = static_cast<int>(share * kWidth);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string left = share > 0.02 ? fmt::format("{:.0f} s left", elapsed / share - elapsed) : "";
  fmt::print(stderr, "\r\033[K[{}{}] {:3.0f}% {:>12}  {}\r", std::string(static_cast<size_t>(filled), '#'),
             std::string(static_cast<size_t>(kWidth - filled), '.'), 100.0 * share, left, what.substr(0, 40));
  std::fflush(stderr);  // the cursor is back at its start, so that a line of the log covers it
}

void ProgressBar::Clear() {
  if (!terminal_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace inferflux::apps
