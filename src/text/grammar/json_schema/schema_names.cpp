// patternProperties and propertyNames: members by their names.
#include <algorithm>
#include <utility>

#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/regex_parser.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxPatterns = 64;
constexpr size_t kMaxNameClasses = 128;

json::value AllOf(const std::vector<const json::value*>& schemas) {
  if (schemas.size() == 1) return *schemas[0];
  json::array all;
  for (const json::value* schema : schemas) all.push_back(*schema);
  return json::object{{"allOf", std::move(all)}};
}

Result<CharAutomaton> Listed(const json::array& values) {
  std::vector<Expr> texts;
  for (const json::value& value : values) {
    if (value.is_string()) texts.push_back(Literal(std::string(value.get_string())));
  }
  return CharAutomaton::Of(*Choice(std::move(texts)));
}

}  // namespace

Result<std::vector<SchemaCompiler::NamePattern>> SchemaCompiler::NamePatterns(const Object& schema,
                                                                              const Place& at) const {
  std::vector<NamePattern> out;
  const Value* patterns = schema.if_contains("patternProperties");
  if (patterns == nullptr) return out;
  const Place place = at.At("patternProperties");
  if (!patterns->is_object() || patterns->get_object().size() > kMaxPatterns) {
    return Wrong(place, "must be an object of at most {} patterns", kMaxPatterns);
  }
  for (const auto& [pattern, value] : patterns->get_object()) {
    auto parsed = ParseRegex(pattern, RegexScope::kSearch);
    if (!parsed) return Wrong(place.At(pattern), "{}", parsed.error().message);
    auto names = CharAutomaton::Of(**parsed);
    if (!names) return Wrong(place.At(pattern), "{}", names.error().message);
    out.push_back({.names = std::move(*names), .schema = &value});
  }
  return out;
}

// Exact, so that it can be negated: for a format only some texts are known.
Result<CharAutomaton> SchemaCompiler::NamesUnder(const Value& schema, const Place& at) const {
  if (schema == true) return CharAutomaton::Everything();
  if (schema == false) return CharAutomaton();
  if (!schema.is_object()) return Wrong(at, "a schema must be an object, true or false");
  if (at.depth > kMaxSchemaDepth) return Wrong(at, "schemas are nested deeper than {}", kMaxSchemaDepth);
  const Object& keywords = schema.get_object();
  CharAutomaton out = CharAutomaton::Everything();
  const auto narrow = [&](Result<CharAutomaton> other, std::string_view keyword) -> Status {
    if (!other) return Forward(other);
    auto both = out.And(*other);
    if (!both) return Wrong(at.At(keyword), "{}", both.error().message);
    out = std::move(*both);
    return {};
  };
  const auto outside = [&](const Value& other, const Place& where) -> Result<CharAutomaton> {
    const auto names = NamesUnder(other, where);
    return names ? CharAutomaton::Everything().Without(*names) : names;
  };
  for (const auto& [keyword, value] : keywords) {
    if (IsAnnotation(keyword)) continue;
    Status done;
    if (keyword == "type") {
      auto types = TypesOf(keywords, at);
      if (!types) return Forward(types);
      if (std::ranges::find(*types, "string") == types->end()) return CharAutomaton();
    } else if (keyword == "pattern" && value.is_string()) {
      auto parsed = ParseRegex(value.get_string(), RegexScope::kSearch);
      if (!parsed) return Wrong(at.At(keyword), "{}", parsed.error().message);
      done = narrow(CharAutomaton::Of(**parsed), keyword);
    } else if (keyword == "enum" && value.is_array()) {
      done = narrow(Listed(value.get_array()), keyword);
    } else if (keyword == "const") {
      done = narrow(Listed({value}), keyword);
    } else if (keyword == "not") {
      done = narrow(outside(value, at.At(keyword)), keyword);
    } else if (keyword == "$ref") {
      auto target = Resolve(value, at);
      if (!target) return Forward(target);
      done = narrow(NamesUnder(**target, at.At(keyword)), keyword);
    } else if (keyword == "allOf" && value.is_array()) {
      for (size_t i = 0; i < value.get_array().size() && done; ++i) {
        done = narrow(NamesUnder(value.get_array()[i], at.At(keyword, i)), keyword);
      }
    } else if (keyword == "anyOf" && value.is_array()) {
      Result<CharAutomaton> none = CharAutomaton::Everything();
      for (size_t i = 0; i < value.get_array().size() && none; ++i) {
        const auto other = outside(value.get_array()[i], at.At(keyword, i));
        none = other ? none->And(*other) : other;
      }
      done = narrow(none ? CharAutomaton::Everything().Without(*none) : none, keyword);
    } else if (keyword == "minLength" || keyword == "maxLength") {
      const auto count = CountOf(keywords, keyword, at);
      if (!count) return Forward(count);
      done = narrow(
          keyword == "minLength" ? CharAutomaton::OfLength(**count, kUnbounded) : CharAutomaton::OfLength(0, **count),
          keyword);
    } else {
      return Wrong(at.At(keyword), "of a name only its type, its length, patterns and lists of names can be said here");
    }
    if (!done) return Forward(done);
  }
  return out;
}

// Members that `properties` does not name. Each name has one schema: that of all patterns that it matches, or, if it
// matches none, `additional` (null: the member is not allowed).
Result<Expr> SchemaCompiler::OtherMembers(const std::vector<NamePattern>& patterns, CharAutomaton names,
                                          const Value* additional, const Place& at) {
  struct NameClass {
    CharAutomaton names;
    std::vector<const Value*> schemas;
  };
  std::vector<NameClass> classes;
  classes.push_back({std::move(names), {}});
  const auto too_large = [&](const Error& error) { return Wrong(at.At("patternProperties"), "{}", error.message); };
  for (const NamePattern& pattern : patterns) {
    std::vector<NameClass> split;
    for (NameClass& each : classes) {
      auto inside = each.names.And(pattern.names), outside = each.names.Without(pattern.names);
      if (!inside) return too_large(inside.error());
      if (!outside) return too_large(outside.error());
      std::vector<const Value*> schemas = each.schemas;
      schemas.push_back(pattern.schema);
      if (!inside->empty()) split.push_back({std::move(*inside), std::move(schemas)});
      if (!outside->empty()) split.push_back({std::move(*outside), std::move(each.schemas)});
    }
    classes = std::move(split);
    if (classes.size() > kMaxNameClasses) {
      return Wrong(at.At("patternProperties"), "patterns that overlap in more than {} ways", kMaxNameClasses);
    }
  }
  std::vector<Expr> ways;
  for (NameClass& each : classes) {
    if (each.schemas.empty() && additional != nullptr) each.schemas.push_back(additional);
    if (each.schemas.empty()) continue;
    auto value = Any(AllOf(each.schemas), at.At("patternProperties"));
    if (!value) return value;
    auto name = Placed(json_.NameIn(each.names), at.At("patternProperties"));
    if (!name) return name;
    ways.push_back(json_.Member(std::move(*name), std::move(*value)));
  }
  return Choice(std::move(ways));
}

// The schema for the value of a member with that name. `own` is its schema under `properties`, or null.
json::value SchemaCompiler::ValueUnder(std::string_view name, const Value* own,
                                       const std::vector<NamePattern>& patterns, const Value& additional) {
  std::vector<const Value*> schemas;
  if (own != nullptr) schemas.push_back(own);
  for (const NamePattern& pattern : patterns) {
    if (pattern.names.Matches(name)) schemas.push_back(pattern.schema);
  }
  if (schemas.empty()) return additional;
  return AllOf(schemas);
}

}  // namespace inferflux::text
