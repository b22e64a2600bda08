#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <utility>

namespace inferflux::log {
namespace {

constexpr auto kTextPattern = "%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v";
constexpr auto kJsonPattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})";

struct Form {
  std::mutex mutex;
  Format format = Format::kText;
  std::vector<Field> process_fields;
};

Form& ProcessForm() {
  static auto* form = new Form();  // as the logger: never destroyed
  return *form;
}

spdlog::logger& Logger() {
  // Never destroyed: threads may log while the process exits.
  static auto* logger = [] {
    auto* made = new spdlog::logger("inferflux", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_level(spdlog::level::warn);  // the default for programs that link the library; ours set their own
    made->set_pattern(kTextPattern);
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

Result<Format> ParseFormat(std::string_view name) {
  if (name == "text") return Format::kText;
  if (name == "json") return Format::kJson;
  return Fail(ErrorCode::kInvalidArgument, "unknown log format '{}': use text or json", name);
}

void SetFormat(Format format) {
  const std::lock_guard lock(ProcessForm().mutex);
  ProcessForm().format = format;
  Logger().set_pattern(format == Format::kJson ? kJsonPattern : kTextPattern);
}
void SetProcessFields(std::vector<Field> fields) {
  const std::lock_guard lock(ProcessForm().mutex);
  ProcessForm().process_fields = std::move(fields);
}

void Write(Level level, std::string_view message, const std::vector<Field>& fields) {
  if (!Logger().should_log(ToSpdlog(level))) return;
  Form& form = ProcessForm();
  const std::string line = [&] {
    const std::lock_guard lock(form.mutex);
    return MakeLine(form.format, message, form.process_fields, fields);
  }();
  Logger().log(ToSpdlog(level), line);
}

}  // namespace inferflux::log
