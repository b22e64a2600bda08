#include "dspy/signature/type_parser.h"

#include <charconv>
#include <optional>

#include "base/nearest.h"
#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

constexpr size_t kMaxTypeDepth = 16;

std::optional<FieldType> SimpleType(std::string_view name) {
  using Kind = FieldType::Kind;
  if (name == "str") return FieldType::Str();
  if (name == "int") return FieldType::Int();
  if (name == "float") return FieldType::Float();
  if (name == "bool") return FieldType::Bool();
  if (name == "Any" || name == "typing.Any") return FieldType::Any();
  if (name == "None" || name == "NoneType") return FieldType{.kind = Kind::kNone};
  if (name == "list" || name == "List") return FieldType{.kind = Kind::kList};
  if (name == "dict" || name == "Dict") return FieldType{.kind = Kind::kDict};
  if (name == "History" || name == "dspy.History") return FieldType::History();
  return std::nullopt;
}

bool StartsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

void TypeParser::SkipSpace() { at_ = text_.size() - StripLeft(text_.substr(at_)).size(); }

bool TypeParser::Take(std::string_view token) {
  SkipSpace();
  if (!Rest().starts_with(token)) return false;
  at_ += token.size();
  return true;
}

std::string_view TypeParser::TakeName() {
  SkipSpace();
  const size_t begin = at_;
  while (at_ < text_.size()) {
    const bool digit = text_[at_] >= '0' && text_[at_] <= '9';
    if (!StartsName(text_[at_]) && !(digit && at_ > begin)) break;
    const PythonChar c = CharAt(text_, at_);
    if (IsPythonSpace(c.code) || (c.code == 0xFFFD && c.size == 1)) break;
    at_ += c.size;
  }
  return text_.substr(begin, at_ - begin);
}

tl::unexpected<Error> TypeParser::Wrong(std::string_view what) const {
  if (field_.empty()) return FailAt("", at_, "the signature '{}': {} at byte {}", text_, what, at_);
  return FailAt(field_, at_, "the field '{}': {} at byte {} of '{}'", field_, what, at_, text_);
}

Result<FieldType> TypeParser::ParseUnion(size_t depth) {
  if (depth > kMaxTypeDepth) return Wrong(fmt::format("types are nested deeper than {}", kMaxTypeDepth));
  std::vector<FieldType> ways;
  do {
    auto way = ParseOne(depth);
    if (!way) return way;
    ways.push_back(std::move(*way));
  } while (Take("|"));
  return FieldType::Union(std::move(ways));
}

Result<std::vector<FieldType>> TypeParser::ParseArguments(size_t depth) {
  std::vector<FieldType> types;
  do {
    auto type = ParseUnion(depth + 1);
    if (!type) return Forward(type);
    types.push_back(std::move(*type));
  } while (Take(","));
  if (!Take("]")) return Wrong("a ']' is missing");
  return types;
}

Result<FieldType> TypeParser::ParseOne(size_t depth) {
  SkipSpace();
  const size_t begin = at_;
  std::string name(TakeName());
  while (!name.empty() && Rest().starts_with('.')) {
    ++at_;
    name += '.';
    name += TakeName();
  }
  if (name.starts_with("typing.") && name != "typing.Any") name.erase(0, 7);
  if (name.empty()) return Wrong("a type is missing");
  if (const auto found = types_.find(name); found != types_.end()) return found->second;

  const bool generic = name == "Literal" || name == "Optional" || name == "Union";
  auto simple = SimpleType(name);
  if (!simple && !generic) {
    at_ = begin;
    return Wrong(fmt::format(
        "the type '{}' is not known{}; there are str, int, float, bool, Literal, list, dict, "
        "Optional, Union, Any, None, History, and the enums and objects that the caller names",
        name,
        Suggestion(name,
                   {"str", "int", "float", "bool", "Literal", "list", "dict", "Optional", "Union", "Any", "History"})));
  }
  if (!Take("[")) {
    if (simple) return std::move(*simple);
    return Wrong(fmt::format("'{}' needs arguments in brackets", name));
  }
  if (name == "Literal") return ParseLiteral();
  const size_t first = at_;
  auto of = ParseArguments(depth);
  if (!of) return Forward(of);
  if (name == "Union") return FieldType::Union(std::move(*of));
  if (name == "Optional" && of->size() == 1) return FieldType::Optional(std::move((*of)[0]));
  if (simple && simple->kind == FieldType::Kind::kList && of->size() == 1) return FieldType::List(std::move((*of)[0]));
  if (simple && simple->kind == FieldType::Kind::kDict && of->size() == 2) {
    if ((*of)[0].kind == FieldType::Kind::kStr) return FieldType::Dict(std::move((*of)[1]));
    at_ = first;
    return Wrong("the keys of a dict must be str");
  }
  at_ = first;
  return Wrong(fmt::format("'{}' does not take {} argument{}", name, of->size(), of->size() == 1 ? "" : "s"));
}

Result<FieldType> TypeParser::ParseLiteral() {
  boost::json::array values;
  do {
    SkipSpace();
    auto value = ParseLiteralValue();
    if (!value) return Forward(value);
    values.push_back(std::move(*value));
  } while (Take(","));
  if (!Take("]")) return Wrong("a ']' is missing");
  return FieldType::Literal(std::move(values));
}

Result<boost::json::value> TypeParser::ParseLiteralValue() {
  if (AtEnd()) return Wrong("a value is missing");
  const char quote = text_[at_];
  if (quote == '\'' || quote == '"') {
    std::string value;
    for (size_t at = at_ + 1; at < text_.size(); ++at) {
      if (text_[at] == quote) {
        at_ = at + 1;
        return boost::json::value(value);
      }
      if (text_[at] == '\\' && at + 1 < text_.size()) ++at;
      value += text_[at];
    }
    return Wrong("a text does not end");
  }
  if (Take("True")) return boost::json::value(true);
  if (Take("False")) return boost::json::value(false);
  if (Take("None")) return boost::json::value(nullptr);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
  if (error != std::errc()) return Wrong("a Literal takes texts in quotes, integers, True, False and None");
  at_ = static_cast<size_t>(end - text_.data());
  return boost::json::value(number);
}

}  // namespace inferflux::dspy
