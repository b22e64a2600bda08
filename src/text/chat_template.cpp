#include "text/chat_template.h"

#include <algorithm>
#include <utility>

#include "text/jinja/evaluate/evaluator.h"
#include "text/jinja/syntax/parser.h"
#include "text/jinja/value/json.h"

namespace inferflux::text {
namespace {

constexpr size_t kMaxSourceBytes = 1 << 20;

tl::unexpected<Error> ToError(const jinja::TemplateError& error, int line) {
  if (line == 0) return Fail(error.code(), "chat template: {}", error.message());
  return Fail(error.code(), "chat template, line {}: {}", line, error.message());
}

std::vector<TextSpan> ToSpans(const jinja::TracedText& text) {
  std::vector<TextSpan> spans;
  spans.reserve(text.runs().size());
  size_t begin = 0;
  for (const auto& run : text.runs()) {
    spans.push_back({text.bytes().substr(begin, run.end - begin), run.trusted});
    begin = run.end;
  }
  return spans;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::Compile(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the chat template has {} bytes; at most {} are allowed", source.size(),
                kMaxSourceBytes);
  }
  try {
    return ChatTemplate(std::make_shared<const jinja::Template>(jinja::Parse(source)), source);
  } catch (const jinja::TemplateError& error) {
    return ToError(error, error.line());
  }
}

Result<std::vector<TextSpan>> ChatTemplate::Render(const boost::json::object& context,
                                                   const RenderOptions& options) const {
  const auto now = options.now.value_or(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  jinja::Runtime runtime({options.max_steps, options.max_memory_bytes, options.max_recursion_depth}, now);
  try {
    jinja::Evaluator evaluator(*parsed_, runtime, options.max_output_bytes);
    for (const auto& [name, value] : context) {
      const auto& trusted = options.trusted_variables;
      const bool is_trusted = std::find(trusted.begin(), trusted.end(), std::string_view(name)) != trusted.end();
      evaluator.SetVariable(name, jinja::FromJson(runtime, value, is_trusted));
    }
    return ToSpans(evaluator.Render());
  } catch (const jinja::TemplateError& error) {
    return ToError(error, error.line() != 0 ? error.line() : runtime.line);
  }
}

}  // namespace inferflux::text
