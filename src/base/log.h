// The process's log: one line for each fact, on standard error, as text or as a JSON object. A thin layer over spdlog,
// so that no other header needs spdlog.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/log_line.h"
#include "base/result.h"

namespace inferflux::log {

enum class Level { kDebug, kInfo, kWarning, kError };

// Parses "debug", "info", "warning" or "error".
Result<Level> ParseLevel(std::string_view name);
void SetLevel(Level level);
// Parses "text" or "json".
Result<Format> ParseFormat(std::string_view name);
void SetFormat(Format format);
// Every later line has them, such as a worker's id.
void SetProcessFields(std::vector<Field> fields);

void Write(Level level, std::string_view message, const std::vector<Field>& fields = {});

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
