// The process's log: one line for each fact, on standard error. A thin layer over spdlog, so that no other header needs
// spdlog.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/result.h"

namespace inferflux::log {

enum class Level { kDebug, kInfo, kWarning, kError };

// Parses "debug", "info", "warning" or "error".
Result<Level> ParseLevel(std::string_view name);
void SetLevel(Level level);
void Write(Level level, std::string_view message);

template <class... Args>
void Debug(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void Info(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void Warning(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void Error(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace inferflux::log
