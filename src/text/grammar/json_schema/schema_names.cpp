// patternProperties and propertyNames: members by their names.
#include <algorithm>
#include <utility>

#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/json_schema/string_formats.h"
#include "text/grammar/json_schema/types/pattern_texts.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxPatterns = 64;
constexpr size_t kMaxAutomatonWork = 1'000'000;  // states, also of automata that others are made of
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
    const auto names = TextsOf(pattern, place.At(pattern));
    if (!names) return Forward(names);
    out.push_back({.names = **names, .schema = &value});
  }
  return out;
}

Status SchemaCompiler::Charge(const Result<CharAutomaton>& automaton, const Place& at) const {
  automaton_work_ += automaton ? automaton->work() : 0;
  if (automaton_work_ > kMaxAutomatonWork) {
    return Wrong(at, "the patterns, lengths and names of the whole schema need too many states to be combined");
  }
  return {};
}

// The texts that match a pattern, which is parsed once.
Result<const CharAutomaton*> SchemaCompiler::TextsOf(std::string_view pattern, const Place& at) const {
  if (const auto found = texts_.find(pattern); found != texts_.end()) return &found->second;
  const auto parsed = ParsePattern(pattern);
  if (!parsed) return Wrong(at, "{}", parsed.error().message);
  auto texts = CharAutomaton::Of(**parsed);
  if (!texts) return Wrong(at, "{}", texts.error().message);
  if (auto charged = Charge(texts, at); !charged) return Forward(charged);
  return &texts_.emplace(std::string(pattern), std::move(*texts)).first->second;
}

// The strings that a schema allows. Of a format only some texts are known, and a form that all of them have: where the
// result is excluded from others, kAtLeast takes the form.
Result<CharAutomaton> SchemaCompiler::TextsUnder(const Value& schema, Exactness exactness, const Place& at) const {
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
  const auto outside = [&](const Value& other, Exactness how, const Place& where) -> Result<CharAutomaton> {
    const auto names = TextsUnder(other, how, where);
    return names ? CharAutomaton::Everything().Without(*names) : names;
  };
  const Exactness opposite = exactness == Exactness::kAtLeast ? Exactness::kAtMost : Exactness::kAtLeast;
  const auto matching = [&](std::string_view pattern, const Place& where) -> Result<CharAutomaton> {
    const auto texts = TextsOf(pattern, where);
    if (!texts) return Forward(texts);
    return **texts;
  };
  for (const auto& [keyword, value] : keywords) {
    if (IsAnnotation(keyword)) continue;
    Status done;
    if (keyword == "type") {
      auto types = TypesOf(keywords, at);
      if (!types) return Forward(types);
      if (std::ranges::find(*types, "string") == types->end()) return CharAutomaton();
    } else if (keyword == "pattern" && value.is_string()) {
      done = narrow(matching(value.get_string(), at.At(keyword)), keyword);
    } else if (keyword == kAllPatterns && value.is_array()) {
      for (const Value& each : value.get_array()) {
        if (!done || !each.is_string()) break;
        done = narrow(matching(each.get_string(), at), "pattern");
      }
    } else if (keyword == "format" && value.is_string()) {
      const StringFormat format = FindFormat(value.get_string());
      if (!format.known) return Wrong(at.At(keyword), "the format is not supported; supported are {}", KnownFormats());
      if (format.pattern.empty()) continue;
      const std::string& texts = exactness == Exactness::kAtLeast ? format.form : format.pattern;
      done = narrow(matching("^(?:" + texts + ")$", at.At(keyword)), keyword);
    } else if (keyword == "enum" && value.is_array()) {
      done = narrow(Listed(value.get_array()), keyword);
    } else if (keyword == "const") {
      done = narrow(Listed({value}), keyword);
    } else if (keyword == "not") {
      done = narrow(outside(value, opposite, at.At(keyword)), keyword);
    } else if (keyword == "$ref") {
      auto target = Resolve(value, at);
      if (!target) return Forward(target);
      done = narrow(TextsUnder(**target, exactness, at.At(keyword)), keyword);
    } else if (keyword == "allOf" && value.is_array()) {
      for (size_t i = 0; i < value.get_array().size() && done; ++i) {
        done = narrow(TextsUnder(value.get_array()[i], exactness, at.At(keyword, i)), keyword);
      }
    } else if (keyword == "anyOf" && value.is_array()) {
      Result<CharAutomaton> none = CharAutomaton::Everything();
      for (size_t i = 0; i < value.get_array().size() && none; ++i) {
        const auto other = outside(value.get_array()[i], exactness, at.At(keyword, i));
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
      return Wrong(at.At(keyword),
                   "of a text only its type, its length, patterns, formats and lists of texts can be said here");
    }
    if (!done) return Forward(done);
  }
  if (auto charged = Charge(out, at); !charged) return Forward(charged);
  return out;
}

// Members that `properties` does not name. Each name has one schema: that of all patterns that it matches, or, if it
// matches none, `additional` (null: the member is not allowed); and `also` for all.
Result<Expr> SchemaCompiler::OtherMembers(const std::vector<NamePattern>& patterns, CharAutomaton names,
                                          const Value* additional, const Value& also, const Place& at) {
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
      if (auto charged = Charge(inside, at); !charged) return Forward(charged);
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
    if (also != true) each.schemas.push_back(&also);
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
