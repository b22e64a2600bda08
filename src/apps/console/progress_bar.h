// A progress bar on standard error, shown only on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace inferflux::apps {

class ProgressBar {
 public:
  ProgressBar();
  // Redraws at most ten times a second.
  void Show(uint64_t done, uint64_t total, std::string_view what);
  // Clears the line, for the summary that follows.
  void Clear();

 private:
  bool terminal_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace inferflux::apps
