// Any bytes as the schema of a tool's arguments and, after a zero byte, choices of how a forced answer continues. There
// must be no crash, and every complete text of the grammar must parse as calls of the tools whose arguments are JSON
// objects.
//
// The first byte chooses the format and whether several calls may come.
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu_limit.h"
#include "text/grammar/automaton/pushdown.h"
#include "text/grammar/grammar_spec.h"
#include "text/tool_calls/tool_call_parser.h"
#include "text/tool_calls/tool_call_syntax.h"

namespace {

using namespace inferflux::text;

// The bytes of the input, followed by bytes derived from them.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  uint32_t Next() {
    const uint32_t byte = at_ < bytes_.size() ? static_cast<uint8_t>(bytes_[at_++]) : 0;
    state_ = state_ * 1664525 + 1013904223 + byte;
    return state_ >> 16;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  uint32_t state_ = 1;
};

// A complete text of the grammar, or nothing if its end is too far away. Every other step leads towards the end of a
// value: in free text between tags, random choices would not reach it.
std::string Walk(const std::shared_ptr<const CompiledGrammar>& grammar, const ToolCallSyntax& syntax, Choices choices) {
  constexpr size_t kMostBytes = 4096;
  Pushdown run(grammar);
  ConfigId at = run.Start();
  std::string out;
  const auto follow = [&](std::string_view text) {
    ConfigId to = at;
    for (const char c : text) to = run.Next(to, static_cast<uint8_t>(c));
    const bool fits = to != Pushdown::kDead && to != Pushdown::kTooMany;
    if (fits) {
      out += text;
      at = to;
    }
    return fits;
  };
  const std::string closes = (syntax.own_lines ? "\n" : "") + std::string(syntax.value_closes) +
                             std::string(syntax.mark) + (syntax.values == ValueSyntax::kElements ? "</" : "");
  while (!run.CanEnd(at) || (run.CanGoOn(at) && choices.Next() % 2 == 0)) {
    if (out.size() > kMostBytes) return "";
    const bool closed = choices.Next() % 2 == 0 && ((!closes.empty() && follow(closes)) || follow("\"") ||
                                                    follow("'") || follow("}") || follow(")"));
    if (closed) continue;
    std::vector<char> ways;
    for (int byte = 0; byte < 256; ++byte) {
      const ConfigId to = run.Next(at, static_cast<uint8_t>(byte));
      if (to != Pushdown::kDead && to != Pushdown::kTooMany) ways.push_back(static_cast<char>(byte));
    }
    if (ways.empty()) return "";
    follow({&ways[choices.Next() % ways.size()], 1});
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  if (size < 1) return 0;
  const auto syntaxes = ToolCallSyntaxes();
  const ToolCallSyntax& syntax = syntaxes[data[0] % 128 % syntaxes.size()];
  const bool several = data[0] < 128;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t split = input.find('\0');
  const std::vector<OfferedTool> tools = {{"f", std::string(input.substr(0, split))}, {"g", ""}};
  const auto grammar =
      CompileGrammar({.kind = GrammarSpec::Kind::kToolCalls,
                      .tool_calls = {.syntax = &syntax, .tools = tools, .forced = true, .several = several}});
  if (!grammar) {
    if (grammar.error().message.empty()) std::abort();
    return 0;
  }
  const std::string text =
      Walk(*grammar, syntax, Choices(split == input.npos ? std::string_view() : input.substr(split + 1)));
  if (text.empty()) return 0;
  ToolCallParser parser(syntax, std::make_shared<const std::vector<OfferedTool>>(tools), {.several = several});
  ToolCallParser::Output out = parser.Feed(text);
  ToolCallParser::Output rest = parser.Finish();
  out.calls.insert(out.calls.end(), rest.calls.begin(), rest.calls.end());
  if (out.calls.empty() || !(out.content + rest.content).empty()) std::abort();
  for (const FoundToolCall& call : out.calls) {
    boost::json::error_code error;
    const auto arguments = boost::json::parse(call.arguments, error, {}, {.max_depth = 1'000});
    if (error || !arguments.is_object() || (call.name != "f" && call.name != "g")) std::abort();
  }
  return 0;
}
