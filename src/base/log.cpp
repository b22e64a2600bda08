#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace inferflux::log {
namespace {

spdlog::logger& Logger() {
  // Never destroyed: threads may log while the process exits.
  static auto* logger = [] {
    auto* made = new spdlog::logger("inferflux", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_level(spdlog::level::warn);  // the default for programs that link the library; ours set their own
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
    return made;
  }();
  return *logger;
}

spdlog::level::level_enum ToSpdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

Result<Level> ParseLevel(std::string_view name) {
  if (name == "debug") return Level::kDebug;
  if (name == "info") return Level::kInfo;
  if (name == "warning") return Level::kWarning;
  if (name == "error") return Level::kError;
  return Fail(ErrorCode::kInvalidArgument, "unknown log level '{}': use debug, info, warning or error", name);
}

void SetLevel(Level level) { Logger().set_level(ToSpdlog(level)); }
void Write(Level level, std::string_view message) { Logger().log(ToSpdlog(level), message); }

}  // namespace inferflux::log
