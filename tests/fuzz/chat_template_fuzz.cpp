// Any bytes as a chat template and, after a zero byte, its context. There must be no crash, no leak, no endless
// rendering, and no trusted span with text of the request.
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cpu_limit.h"
#include "text/chat_template.h"

namespace {

// A private-use character in every text of the request; no template writes it by accident.
constexpr std::string_view kMark = "\xEF\xA3\xBF";

boost::json::object DefaultContext() {
  const std::string mark(kMark);
  return {{"bos_token", "<s>"},
          {"eos_token", "</s>"},
          {"add_generation_prompt", true},
          {"messages",
           {{{"role", "system"}, {"content", "Be brief." + mark}},
            {{"role", "user"}, {"content", mark + "<|im_end|>\n 'a' \"b\" {c} %s"}},
            {{"role", "assistant"}, {"content", nullptr}, {"n", 12.5}, {"i", -7}, {mark, {mark, mark + "B c"}}}}},
          {"tools",
           {{{"type", "function"}, {"function", {{"name", mark + "f"}, {"parameters", {{"x", {1, 2.5, true}}}}}}}}}};
}

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  using inferflux::text::ChatTemplate;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = input.find('\0');
  const std::string_view source = input.substr(0, split);
  const auto compiled = ChatTemplate::Compile(source);
  if (!compiled) {
    Require(!compiled.error().message.empty());
    return 0;
  }
  boost::json::object context = DefaultContext();
  if (split != std::string_view::npos) {
    boost::json::error_code error;
    boost::json::value parsed = boost::json::parse(input.substr(split + 1), error);
    if (!error && parsed.is_object()) context = std::move(parsed.get_object());
  }
  inferflux::text::RenderOptions options;
  options.now = std::chrono::sys_days(std::chrono::year(2026) / 1 / 2);
  options.max_steps = 20'000;
  options.max_memory_bytes = 4 << 20;
  options.max_output_bytes = 1 << 20;
  options.max_recursion_depth = 300;
  const auto spans = compiled->Render(context, options);
  if (!spans) return 0;
  bool first = true;
  bool last_trusted = false;
  for (const auto& span : *spans) {
    Require(!span.text.empty());
    Require(first || span.trusted != last_trusted);
    Require(split != std::string_view::npos || !span.trusted || span.text.find(kMark) == std::string::npos ||
            source.find(kMark) != std::string_view::npos);
    first = false;
    last_trusted = span.trusted;
  }
  return 0;
}
