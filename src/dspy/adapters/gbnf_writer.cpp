#include "dspy/adapters/gbnf_writer.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <optional>

#include "dspy/python/python_format.h"
#include "dspy/python/python_text.h"
#include "dspy/signature/json_schema_check.h"

namespace inferflux::dspy {
namespace {

constexpr size_t kMaxNesting = 32;
constexpr size_t kAnyJsonDepth = 4;
// Numbers that 64 bits hold, and that no conversion refuses.
constexpr std::string_view kIntRule = R"("-"? ("0" | [1-9] [0-9]{0,17}))";
constexpr std::string_view kNumberRule =
    R"("-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?)";
constexpr std::string_view kCharRule = R"([^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt])";
// White space that does not end a line (python_text.h), and the ends of lines.
constexpr std::string_view kBlank = R"( \t\x1F\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000)";
constexpr std::string_view kLineEnds = R"(\n\x0B\x0C\r\x1C-\x1E\u0085\u2028\u2029)";

tl::unexpected<Error> NoGrammar(std::string_view what) {
  return Fail(ErrorCode::kInvalidConfig, "no grammar can be made: {}", what);
}

std::string CharEscape(char32_t code) {
  if (code < 0x80) {
    const bool plain = (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z');
    return plain ? std::string(1, static_cast<char>(code)) : fmt::format("\\x{:02X}", static_cast<uint32_t>(code));
  }
  return fmt::format("\\U{:08X}", static_cast<uint32_t>(code));
}

bool IsAsciiLetter(char32_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

// The characters of a class that match `code` in either case.
std::string BothCases(char32_t code) {
  return IsAsciiLetter(code) ? CharEscape(code | 0x20) + CharEscape(code & ~char32_t{0x20}) : CharEscape(code);
}

std::vector<char32_t> LowerCodes(std::string_view text) {
  std::vector<char32_t> codes;
  for (size_t at = 0; at < text.size(); at += CharAt(text, at).size) {
    const char32_t code = CharAt(text, at).code;
    codes.push_back(IsAsciiLetter(code) ? code | 0x20 : code);
  }
  return codes;
}

// Of alternatives that are texts: as they are, or in quotes where Python's strip would change them.
Result<std::string> Alternatives(const FieldType& type) {
  std::string out;
  for (const auto& value : type.values) {
    std::string text = PythonStr(value);
    if (std::ranges::any_of(SplitLines(text + "."), [&](auto line) { return line.size() <= text.size(); })) {
      return NoGrammar(fmt::format("a value of {} has several lines", NameOf(type)));
    }
    if (text.empty() || Strip(text).size() != text.size()) text = "'" + text + "'";
    if (text.find("[[ ##") != std::string::npos)
      return NoGrammar(fmt::format("a value of {} has a marker", NameOf(type)));
    out += (out.empty() ? "" : " | ") + GbnfLiteral(text);
  }
  return "(" + out + ")";
}

std::optional<size_t> LimitOf(const boost::json::object& schema, std::string_view name) {
  const auto* value = schema.if_contains(name);
  if (!value || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
  return static_cast<size_t>(value->get_int64());
}

}  // namespace

std::string GbnfLiteral(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const PythonChar c = CharAt(text, at);
    const bool plain = c.code >= 0x20 && c.code != '"' && c.code != '\\' && c.code != 0x7F;
    out += plain ? std::string(text.substr(at, c.size)) : fmt::format("\\x{:02X}", static_cast<uint32_t>(c.code));
    at += c.size;
  }
  return out + "\"";
}

std::string GbnfWriter::Shared(std::string_view name, std::string_view body) {
  if (!shared_.contains(name)) {
    shared_.emplace(name, name);
    Add(name, body);
  }
  return std::string(name);
}

Result<std::string> GbnfWriter::Value(const FieldType& type, std::string_view free_text) {
  using Kind = FieldType::Kind;
  const bool text =
      type.kind == Kind::kStr || (type.AllowsNone() && std::ranges::find(type.of, FieldType::Str()) != type.of.end());
  if (text) return std::string(free_text);
  if (type.kind == Kind::kBool) return std::string(R"(("True" | "False"))");
  if (type.kind == Kind::kLiteral || type.kind == Kind::kEnum) return Alternatives(type);
  boost::json::object root;
  boost::json::object schema = SchemaOf(type, root);
  return Schema(boost::json::object{{"$defs", root}}, schema);
}

Result<std::string> GbnfWriter::Schema(const boost::json::object& root, const boost::json::value& schema) {
  if (depth_ >= kMaxNesting) return NoGrammar("the schema is nested too deep");
  if (schema.is_bool()) return AnyJson();
  const boost::json::object& rules = schema.get_object();
  if (const auto* reference = rules.if_contains("$ref"))
    return Reference(root, std::string_view(reference->get_string()));
  if (const auto* one = rules.if_contains("const")) return GbnfLiteral(JsonDumps(*one));
  std::vector<std::string> ways;
  ++depth_;
  if (const auto* among = rules.if_contains("enum")) {
    for (const auto& value : among->get_array()) ways.push_back(GbnfLiteral(JsonDumps(value)));
  } else if (const auto* any = rules.if_contains("anyOf")) {
    for (const auto& way : any->get_array()) {
      auto body = Schema(root, way);
      if (!body) return body;
      ways.push_back(std::move(*body));
    }
  } else if (const auto* type = rules.if_contains("type")) {
    auto body = OfType(root, rules, std::string_view(type->get_string()));
    --depth_;
    return body;
  } else {
    --depth_;
    return AnyJson();
  }
  --depth_;
  std::string out;
  for (const std::string& way : ways) out += (out.empty() ? "" : " | ") + way;
  return "(" + out + ")";
}

Result<std::string> GbnfWriter::OfType(const boost::json::object& root, const boost::json::object& schema,
                                       std::string_view type) {
  for (const std::string_view limit : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
    if (schema.contains(limit)) return NoGrammar(fmt::format("the schema's '{}' is not regular here", limit));
  }
  const auto counted = [&](std::string_view least, std::string_view most) {
    const auto high = LimitOf(schema, most);
    return fmt::format("{{{},{}}}", LimitOf(schema, least).value_or(0), high ? fmt::to_string(*high) : "");
  };
  if (type == "boolean") return std::string(R"(("true" | "false"))");
  if (type == "null") return GbnfLiteral("null");
  if (type == "integer") return Shared("int", kIntRule);
  if (type == "number") return Shared("number", kNumberRule);
  if (type == "string") {
    return fmt::format(R"(("\"" {}{} "\""))", Shared("char", kCharRule), counted("minLength", "maxLength"));
  }
  if (type == "object") return Object(root, schema);
  if (type != "array") return NoGrammar(fmt::format("the schema's type '{}' is not known", type));
  const auto* items = schema.if_contains("items");
  auto item = items ? Schema(root, *items) : AnyJson();
  if (!item) return item;
  const size_t low = LimitOf(schema, "minItems").value_or(0);
  const auto high = LimitOf(schema, "maxItems");
  if (high == 0 && low == 0) return GbnfLiteral("[]");
  const std::string name = NewName();
  Add(name, *item);
  const std::string more = fmt::format("{{{},{}}}", low > 0 ? low - 1 : 0, high ? fmt::to_string(*high - 1) : "");
  return fmt::format(R"(("[" {}({} (", " {}){}){} "]"))", "", name, name, more, low > 0 ? "" : "?");
}

// Members in the schema's order. Those that may be absent are there, but for one that would call itself without an end.
Result<std::string> GbnfWriter::Object(const boost::json::object& root, const boost::json::object& schema) {
  const auto* properties = schema.if_contains("properties");
  if (!properties || properties->get_object().empty()) {
    const auto* others = schema.if_contains("additionalProperties");
    if (others && others->is_bool() && !others->get_bool()) return GbnfLiteral("{}");
    auto value = others ? Schema(root, *others) : AnyJson();
    if (!value) return value;
    const std::string member = NewName();
    Add(member, fmt::format(R"("\"" {}* "\": " {})", Shared("char", kCharRule), *value));
    return fmt::format(R"(("{{" ({} (", " {})*)? "}}"))", member, member);
  }
  const auto* required = schema.if_contains("required");
  std::string body;
  for (const auto& [key, member] : properties->get_object()) {
    const bool needed = required && std::ranges::find(required->get_array(), key) != required->get_array().end();
    const bool before = std::exchange(recursive_, false);
    auto value = Schema(root, member);
    if (!value) return value;
    const bool recursive = recursive_;
    recursive_ = before || (recursive && needed);
    if (recursive && !needed) continue;
    body += fmt::format("{} {} ", GbnfLiteral((body.empty() ? "" : ", ") + JsonDumps(key) + ": "), *value);
  }
  return fmt::format(R"(("{{" {}"}}"))", body);
}

Result<std::string> GbnfWriter::Reference(const boost::json::object& root, std::string_view reference) {
  if (const auto known = references_.find(reference); known != references_.end()) {
    if (std::ranges::find(open_, known->first) != open_.end()) recursive_ = true;
    return known->second;
  }
  const boost::json::object* target = FindReference(root, reference);
  if (!target) return NoGrammar(fmt::format("'{}' refers to nothing", reference));
  const std::string name = NewName();
  references_.emplace(reference, name);
  open_.emplace_back(reference);
  auto body = Schema(root, *target);
  open_.pop_back();
  if (!body) return body;
  Add(name, *body);
  return name;
}

// Values that are nested as deep as kAnyJsonDepth.
std::string GbnfWriter::AnyJson() {
  if (shared_.contains("any0")) return "any0";
  const std::string text = fmt::format(R"(("\"" {}* "\""))", Shared("char", kCharRule));
  const std::string plain = fmt::format(R"({} | {} | "true" | "false" | "null")", text, Shared("number", kNumberRule));
  for (size_t depth = kAnyJsonDepth; depth > 0; --depth) {
    const std::string below = fmt::format("any{}", depth);
    const std::string nested =
        fmt::format(R"( | "[" ({0} (", " {0})*)? "]" | "{{" ({1} ": " {0} (", " {1} ": " {0})*)? "}}")", below, text);
    Shared(fmt::format("any{}", depth - 1), plain + nested);
  }
  Shared(fmt::format("any{}", kAnyJsonDepth), plain);
  return "any0";
}

void GbnfWriter::TextWithout(std::string_view name, const std::vector<std::string>& markers, bool first_line_free) {
  // A line walks the tree of the markers' letters: it may leave the tree or end anywhere, but not reach a marker's end.
  std::vector<std::map<char32_t, size_t>> nodes(1);
  std::vector<bool> ends(1, false);
  for (const std::string& marker : markers) {
    size_t at = 0;
    for (const char32_t code : LowerCodes(marker)) {
      const auto [next, is_new] = nodes[at].try_emplace(code, nodes.size());
      at = next->second;
      if (is_new) {
        nodes.emplace_back();
        ends.push_back(false);
      }
    }
    ends[at] = true;
  }
  const std::string rest = fmt::format("[^{}]*", kLineEnds);
  const auto node_name = [&](size_t node) { return fmt::format("{}-n{}", name, node); };
  for (size_t node = 0; node < nodes.size(); ++node) {
    if (ends[node]) continue;
    std::string taken;
    std::string body;
    for (const auto& [code, next] : nodes[node]) {
      taken += BothCases(code);
      if (!ends[next]) body += fmt::format(" | [{}] {}", BothCases(code), node_name(next));
    }
    const std::string_view blank = node == 0 ? kBlank : std::string_view();
    Add(node_name(node), fmt::format("(\"\" | [^{}{}{}] {}{})", kLineEnds, blank, taken, rest, body));
  }
  const std::string line = fmt::format("[{}]* {}", kBlank, node_name(0));
  Add(std::string(name) + "-line", line);
  Add(name, fmt::format("{} (\"\\n\" {}-line)*", first_line_free ? rest : std::string(name) + "-line", name));
}

}  // namespace inferflux::dspy
