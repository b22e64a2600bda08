// How a family of models writes calls of tools, as data: what ToolCallParser reads and GrammarOfToolCalls forces.
#pragma once

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

// How the arguments of a kNamed are written.
enum class ValueSyntax : uint8_t {
  kJson,
  kPython,    // as Python calls: (name=value, ...)
  kElements,  // <name>text</name>, elements within elements, `mark` in front of each tag
  kMarked,    // as JSON, but strings stand as they are between two `mark`, and the names of members need none
};

// Markers: see marker.h. Empty ones are not there.
struct ToolCallForm {
  std::string_view id;  // for messages and tests
  CallBody body = CallBody::kObject;

  std::string_view opens = {};        // in front of all calls
  std::string_view call_opens = {};   // in front of each
  std::string_view name_closes = {};  // behind a name that stands by itself; a kNamed's may end where arguments begin
  std::string_view call_closes = {};  // behind each
  std::string_view closes = {};       // behind all calls
  bool list = false;                  // the calls are the elements of one list, in brackets
  bool bare = false;                  // where the answer begins with a call, nothing opens it

  // Members of a kObject. Without a key for the name, the name itself is the key of the arguments.
  std::string_view name_key = "name";
  std::string_view arguments_key = "arguments";
  std::string_view id_key = {};  // comes first, and numbers the calls

  ValueSyntax values = ValueSyntax::kJson;
  std::string_view mark = {};
  bool sorted = false;  // members come by their names, in the order of dictsort

  // Around the arguments of a kTagged.
  std::string_view key_opens = {};
  std::string_view key_closes = {};  // up to the value's first byte
  std::string_view value_closes = {};
  bool own_lines = false;  // a value stands on lines of its own
};

// All that are known, those that most models have first. Their markers begin with an ASCII character.
std::span<const ToolCallForm> ToolCallForms();

// The form of Hermes and Qwen, which models write that were not taught another one.
const ToolCallForm& HermesForm();

// What a call begins with.
inline std::string_view FirstMarker(const ToolCallForm& form) {
  return form.opens.empty() ? form.call_opens : form.opens;
}

// A function that a request offers.
struct OfferedTool {
  std::string name;
  std::string parameters;  // the text of a JSON schema of its arguments; empty: any object
  friend bool operator==(const OfferedTool&, const OfferedTool&) = default;
};

struct FoundToolCall {
  std::string name;
  std::string arguments;  // the text of a JSON object
};

}  // namespace inferflux::text
