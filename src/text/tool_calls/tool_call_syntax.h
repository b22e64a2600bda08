// How a family of models writes tool calls, as data for ToolCallParser and GrammarOfToolCalls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace inferflux::text {

// Where a call has its name and its arguments.
enum class CallBody : uint8_t {
  kObject,  // a JSON object holds both
  kNamed,   // the name, then the arguments as an object
  kTagged,  // the name, then each argument between tags
};

// The syntax of a kNamed's arguments.
enum class ValueSyntax : uint8_t {
  kJson,
  kPython,    // a Python call: (name=value, ...)
  kElements,  // <name>text</name>, nested elements, with `mark` before each tag
  kMarked,    // JSON, but strings are verbatim between two `mark`, and the names of members need none
};

// Markers: see marker.h. Empty ones are absent.
struct ToolCallSyntax {
  std::string_view id;  // for messages and tests
  CallBody body = CallBody::kObject;

  std::string_view opens = {};        // before all calls
  std::string_view call_opens = {};   // before each call
  std::string_view name_closes = {};  // after a separate name; for a kNamed it may end where the arguments begin
  std::string_view call_closes = {};  // after each call
  std::string_view closes = {};       // after all calls
  bool list = false;                  // the calls are the elements of one list, in brackets
  bool bare = false;                  // if the answer begins with a call, nothing opens it

  // Members of a kObject. Without a key for the name, the name itself is the key of the arguments.
  std::string_view name_key = "name";
  std::string_view arguments_key = "arguments";
  std::string_view id_key = {};  // comes first, and numbers the calls

  ValueSyntax values = ValueSyntax::kJson;
  std::string_view mark = {};
  bool sorted = false;  // members are sorted by name, in the order of dictsort

  // Around the arguments of a kTagged.
  std::string_view key_opens = {};
  std::string_view key_closes = {};  // up to the value's first byte
  std::string_view value_closes = {};
  bool own_lines = false;  // a value has lines of its own
};

// All known formats, the commonest first. Their markers begin with an ASCII character.
std::span<const ToolCallSyntax> ToolCallSyntaxes();

// The format of Hermes and Qwen, which models write that were not taught another one.
const ToolCallSyntax& HermesSyntax();

// The text with which a call begins.
inline std::string_view FirstMarker(const ToolCallSyntax& syntax) {
  return syntax.opens.empty() ? syntax.call_opens : syntax.opens;
}

// The only argument of a custom tool, which is a text.
inline constexpr std::string_view kCustomInput = "input";

// A function that a request offers.
struct OfferedTool {
  std::string name;
  std::string parameters;  // a JSON schema of its arguments, as text; empty: any object
  std::string lark = {};   // instead, of a custom tool: the grammar of its input
  friend bool operator==(const OfferedTool&, const OfferedTool&) = default;
};

struct FoundToolCall {
  enum class End : uint8_t {
    kClosed,    // as its format demands
    kUnclosed,  // its arguments are complete, and what follows them does not close it
    kCut,       // the text was cut inside the arguments
    kBroken,    // the arguments are no JSON
  };
  std::string name;
  std::string arguments;  // a JSON object, as text; of a kCut its beginning; of a kBroken what the model wrote
  End end = End::kClosed;
  std::string source;  // of a kBroken: all of its text

  bool whole() const { return end == End::kClosed || end == End::kUnclosed; }
};

// More of a call: first its name, with the beginning of its arguments, then what they grow by.
struct ToolCallPiece {
  size_t call = 0;        // its number in the answer
  std::string name;       // of the first piece; empty in the others
  std::string arguments;  // never ends inside a character or an escape
};

}  // namespace inferflux::text
