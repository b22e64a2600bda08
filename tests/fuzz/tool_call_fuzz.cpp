// Any text as an answer in every format of calls. The result must not depend on how the text is split, text without a
// call must be returned unchanged, the arguments of every whole call must be a JSON object, and what is passed on of a
// call while it grows must be that call.
//
// The first byte chooses the format and whether several calls may come, the second the length of the pieces.
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cpu_limit.h"
#include "text/tool_calls/tool_call_parser.h"
#include "text/tool_calls/tool_call_syntax.h"
#include "unicode/utf8.h"

namespace {

using inferflux::text::OfferedTool;
using inferflux::text::ToolCallParser;
using inferflux::text::ToolCallSyntax;

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Answer {
  std::string content;
  std::vector<std::string> calls;  // name, arguments and end
  std::vector<std::string> grown;  // the name and arguments that their pieces make
  friend bool operator==(const Answer&, const Answer&) = default;
};

void Take(ToolCallParser::Output from, Answer& into) {
  into.content += from.content;
  for (const auto& piece : from.pieces) {
    if (!piece.name.empty()) into.grown.push_back(piece.name + ' ');
    Require(piece.call + 1 == into.grown.size());
    Require(inferflux::unicode::IsValidUtf8(piece.arguments));
    into.grown.back() += piece.arguments;
  }
  for (const auto& call : from.calls) {
    boost::json::error_code error;
    Require(call.name == "f" || call.name == "g");
    if (call.whole()) {
      Require(boost::json::parse(call.arguments, error, {}, {.max_depth = 64}).is_object() && !error);
    }
    Require(into.calls.size() < into.grown.size());
    Require(into.grown[into.calls.size()] == call.name + ' ' + call.arguments);
    into.calls.push_back(call.name + ' ' + call.arguments + std::to_string(static_cast<int>(call.end)) + call.source);
  }
}

Answer Read(const ToolCallSyntax& syntax, bool several, std::string_view text, size_t piece, bool cut) {
  static const auto tools = std::make_shared<const std::vector<OfferedTool>>(std::vector<OfferedTool>{
      {"f", R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}})"}, {"g", ""}});
  ToolCallParser parser(syntax, tools, {.several = several, .forced = cut});
  Answer out;
  for (size_t at = 0; at < text.size(); at += piece) Take(parser.Feed(text.substr(at, piece)), out);
  Take(parser.Finish(cut), out);
  Require(out.calls.size() == out.grown.size());
  Require(cut || out.calls.size() == parser.found());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  if (size < 2) return 0;
  const auto syntaxes = inferflux::text::ToolCallSyntaxes();
  const ToolCallSyntax& syntax = syntaxes[data[0] % 128 % syntaxes.size()];
  const bool several = data[0] < 128;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (!inferflux::unicode::IsValidUtf8(text)) return 0;  // a detokenizer returns only valid UTF-8
  for (const bool cut : {false, true}) {
    const Answer whole = Read(syntax, several, text, text.size() + 1, cut);
    if (!cut && whole.calls.empty()) Require(whole.content == text);
    Require(Read(syntax, several, text, 1 + data[1] % 16, cut) == whole);
  }
  return 0;
}
