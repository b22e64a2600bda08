// inferctl template: renders a chat template with a context, byte for byte.
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"
#include "text/chat_template.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

constexpr size_t kMaxContextDepth = 512;

struct TemplateFlags {
  std::string template_file;
  std::string context_file;
  std::string now;
};

Result<json::object> ReadContext(const std::string& path) {
  auto text = ContentsOf(path);
  if (!text) return Forward(text);
  json::parse_options options;
  options.max_depth = kMaxContextDepth;
  boost::system::error_code error;
  const json::value value = json::parse(*text, error, {}, options);
  if (error) return Fail(ErrorCode::kInvalidArgument, "{}: not valid JSON: {}", path, error.message());
  if (!value.is_object()) return Fail(ErrorCode::kInvalidArgument, "{}: must hold a JSON object of variables", path);
  return value.get_object();
}

// "2024-07-26", "2024-07-26T12:30:00" or with a space; a Z at the end is allowed, since times are UTC.
Result<std::chrono::sys_seconds> ParseTime(std::string text) {
  const std::string given = text;
  if (text.ends_with('Z')) text.pop_back();
  for (const char* format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d"}) {
    std::tm time{};
    const char* end = ::strptime(text.c_str(), format, &time);
    if (end != nullptr && *end == '\0') return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&time)));
  }
  return Fail(ErrorCode::kInvalidArgument, "--now {}: write a time as 2024-07-26T12:30:00", given);
}

int RunTemplate(bool as_json, const TemplateFlags& flags) {
  if (flags.template_file == "-" && flags.context_file == "-") {
    return Complain("TEMPLATE and CONTEXT cannot both be standard input", kUsageError);
  }
  text::RenderOptions options;
  if (!flags.now.empty()) {
    const auto now = ParseTime(flags.now);
    if (!now) return Complain(now.error().message, kUsageError);
    options.now = *now;
  }
  const auto source = ContentsOf(flags.template_file);
  if (!source) return Complain(source.error());
  const auto context = ReadContext(flags.context_file);
  if (!context) return Complain(context.error());
  const auto compiled = text::ChatTemplate::Compile(*source);
  if (!compiled) return Complain(flags.template_file + ": " + compiled.error().message);
  const auto spans = compiled->Render(*context, options);
  if (!spans) return Complain(flags.template_file + ": " + spans.error().message);
  if (as_json) {
    std::string text;
    for (const text::TextSpan& span : *spans) text += span.text;
    return PrintJson(json::object{{"text", std::move(text)}});
  }
  for (const text::TextSpan& span : *spans) std::fwrite(span.text.data(), 1, span.text.size(), stdout);
  return std::fflush(stdout) == 0 ? kOk : Complain("cannot write to standard output");
}

}  // namespace

Run AddTemplate(Command& app) {
  auto flags = std::make_shared<TemplateFlags>();
  Command render =
      app.AddCommand("template", "print exactly the text that a chat template makes of a context; needs no server");
  render.Add("TEMPLATE", flags->template_file, "Jinja file; - for standard input").Required();
  render.Add("CONTEXT", flags->context_file, "JSON file with the variables: messages, tools, ...; - for standard input")
      .Required();
  render.Add("--now", flags->now, "the UTC time that strftime_now shows, as 2024-07-26T12:30:00; else the clock's")
      .Shown("ISO_TIME");
  return [flags](const CommandContext& context) { return RunTemplate(context.json, *flags); };
}

}  // namespace inferflux::apps
