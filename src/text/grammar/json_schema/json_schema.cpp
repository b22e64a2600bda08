#include "text/grammar/json_schema/json_schema.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "text/grammar/gbnf_parser.h"
#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/json_schema/string_formats.h"
#include "text/grammar/regex_parser.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr uint32_t kMaxJsonNesting = 256;
constexpr size_t kMaxSteps = 20'000;  // schemas within the schema, including generated ones
constexpr uint32_t kMaxDivisor = 1000;
constexpr int64_t kMaxWhole = 999'999'999'999'999'999;

constexpr std::string_view kTypes[] = {"object", "array", "string", "number", "integer", "boolean", "null"};

// The type that a keyword applies to; empty: any type.
std::string_view TypeOfKeyword(std::string_view keyword) {
  for (const std::string_view name : {"properties", "required", "additionalProperties", "patternProperties",
                                      "propertyNames", "minProperties", "maxProperties"}) {
    if (keyword == name) return "object";
  }
  for (const std::string_view name :
       {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"}) {
    if (keyword == name) return "array";
  }
  for (const std::string_view name : {"minLength", "maxLength", "pattern", "format"}) {
    if (keyword == name) return "string";
  }
  for (const std::string_view name : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}) {
    if (keyword == name) return "number";
  }
  return {};
}

}  // namespace

SchemaCompiler::Place SchemaCompiler::Place::At(std::string_view key) const {
  return {.path = fmt::format("{}/{}", path, key), .depth = depth + 1};
}

SchemaCompiler::Place SchemaCompiler::Place::At(std::string_view key, size_t index) const {
  return {.path = fmt::format("{}/{}/{}", path, key, index), .depth = depth + 1};
}

Result<Expr> SchemaCompiler::Any(const Value& schema, const Place& at) {
  if (schema == true) return json_.Value();
  if (schema == false) return Nothing();
  if (!schema.is_object()) return Wrong(at, "a schema must be an object, true or false");
  return AnyObject(schema.get_object(), at);
}

Result<Expr> SchemaCompiler::AnyObject(const Object& schema, const Place& at) {
  if (at.depth > kMaxSchemaDepth) return Wrong(at, "schemas are nested deeper than {}", kMaxSchemaDepth);
  if (auto known = CheckKeywords(schema, at); !known) return Forward(known);
  if (++steps_ > kMaxSteps) return Wrong(at, "the schema is too large, or its parts combine in too many ways");
  if (const Value* type = schema.if_contains("type");
      type != nullptr && type->is_array() && type->get_array().empty()) {
    return Nothing();  // two that must both hold have no common type
  }
  if (HasSugar(schema)) {
    auto plain = WithoutSugar(schema, at);
    if (!plain) return Forward(plain);
    return AnyObject(*plain, {.path = at.path, .depth = at.depth + 1});
  }
  const auto keywords = std::ranges::count_if(schema, [](const auto& entry) { return !IsAnnotation(entry.key()); });
  const Value* reference = schema.if_contains("$ref");
  const Value* all = schema.if_contains("allOf");
  if (reference != nullptr && keywords == 1) return CallReference(*reference, at);
  if (all != nullptr && keywords == 1 && all->is_array() && all->get_array().size() == 1) {
    return Any(all->get_array()[0], at.At("allOf", 0));
  }
  if (reference != nullptr || all != nullptr) {
    auto flat = Flatten(schema, at, 0);
    if (!flat) return Forward(flat);
    return AnyObject(*flat, {.path = at.path, .depth = at.depth + 1});
  }
  if (const Value* nullable = schema.if_contains("nullable")) {
    Object rest = schema;
    rest.erase("nullable");
    auto body = AnyObject(rest, {.path = at.path, .depth = at.depth + 1});
    if (!body || *nullable == false) return body;
    if (*nullable != true) return Wrong(at.At("nullable"), "must be true or false");
    return Choice({std::move(*body), json_.Word("null")});
  }
  if (schema.contains("anyOf")) return Alternatives(schema, "anyOf", at);
  if (schema.contains("oneOf")) return Alternatives(schema, "oneOf", at);
  if (schema.contains("const") || schema.contains("enum")) return Constants(schema, at);
  auto types = TypesOf(schema, at);
  if (!types) return Forward(types);
  if (types->empty()) return schema.contains("type") ? Nothing() : json_.Value();
  std::vector<Expr> ways;
  for (const std::string_view type : *types) {
    auto way = OfType(type, schema, at);
    if (!way) return way;
    ways.push_back(std::move(*way));
  }
  return Choice(std::move(ways));
}

// The types that the schema names, or else those that its keywords apply to; none: any type.
Result<std::vector<std::string_view>> SchemaCompiler::TypesOf(const Object& schema, const Place& at) const {
  std::vector<std::string_view> types;
  const auto add = [&](std::string_view type) {
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  };
  const Value* type = schema.if_contains("type");
  if (type == nullptr) {
    for (const auto& [keyword, value] : schema) {
      const std::string_view implied = TypeOfKeyword(keyword);
      if (!implied.empty()) add(implied);
    }
    return types;
  }
  const Array listed = type->is_array() ? type->get_array() : Array{*type};
  for (const Value& name : listed) {
    const auto* known =
        name.is_string() ? std::ranges::find(kTypes, std::string_view(name.get_string())) : std::end(kTypes);
    if (known == std::end(kTypes)) return Wrong(at.At("type"), "'{}' is not a type of JSON", json::serialize(name));
    add(*known);
  }
  if (std::ranges::find(types, "number") != types.end()) std::erase(types, "integer");
  return types;
}

Result<Expr> SchemaCompiler::OfType(std::string_view type, const Object& schema, const Place& at) {
  if (type == "null") return json_.Word("null");
  if (type == "boolean") return Choice({json_.Word("true"), json_.Word("false")});
  if (type == "integer" || type == "number") return Number(schema, type == "integer", at);
  if (type == "string") return String(schema, at);
  if (type == "array") return List(schema, at);
  return Members(schema, at);
}

Result<std::optional<uint32_t>> SchemaCompiler::CountOf(const Object& schema, std::string_view keyword,
                                                        const Place& at) const {
  const Value* value = schema.if_contains(keyword);
  if (value == nullptr) return std::optional<uint32_t>();
  boost::system::error_code inexact;
  const auto count = value->is_number() ? value->to_number<uint32_t>(inexact) : 0;
  if (!value->is_number() || inexact || count > kMaxRepetitions) {
    return Wrong(at.At(keyword), "must be an integer from 0 to {}", kMaxRepetitions);
  }
  return std::optional(count);
}

// The stricter one of minimum and exclusiveMinimum (draft 4: a boolean beside minimum), or of the maximum pair.
Result<std::optional<NumberBound>> SchemaCompiler::BoundOf(const Object& schema, bool low, const Place& at) const {
  const std::string_view inclusive = low ? "minimum" : "maximum";
  const std::string_view exclusive = low ? "exclusiveMinimum" : "exclusiveMaximum";
  const Value* bound = schema.if_contains(inclusive);
  const Value* strict = schema.if_contains(exclusive);
  bool is_strict = false;
  if (strict != nullptr && strict->is_bool()) {
    is_strict = strict->get_bool();
  } else if (strict != nullptr) {
    if (!strict->is_number()) return Wrong(at.At(exclusive), "must be a number");
    if (bound == nullptr || !bound->is_number() ||
        (low ? strict->to_number<double>() >= bound->to_number<double>()
             : strict->to_number<double>() <= bound->to_number<double>())) {
      bound = strict;
      is_strict = true;
    }
  }
  if (bound == nullptr) return std::optional<NumberBound>();
  if (!bound->is_number()) return Wrong(at.At(inclusive), "must be a number");
  if (bound->is_double()) {
    auto decimal = DecimalOf(bound->get_double());
    if (!decimal) return Wrong(at.At(inclusive), "{}", decimal.error().message);
    return NumberBound{.decimal = std::move(*decimal), .exclusive = is_strict};
  }
  const auto whole = bound->if_int64();
  if (whole == nullptr || *whole > kMaxWhole || *whole < -kMaxWhole) {
    return Wrong(at.At(inclusive), "must have at most 18 digits");
  }
  return NumberBound{.decimal = std::to_string(*whole), .exclusive = is_strict};
}

Result<Expr> SchemaCompiler::Number(const Object& schema, bool whole, const Place& at) {
  const auto low = BoundOf(schema, true, at);
  if (!low) return Forward(low);
  const auto high = BoundOf(schema, false, at);
  if (!high) return Forward(high);
  if (schema.contains("not")) {  // excludes integers
    static const Expr kFraction = Sequence({Optional(Literal("-")), Repeat(OneOf({{'0', '9'}}), 1, kUnbounded),
                                            Literal("."), Repeat(OneOf({{'0', '9'}}), 0, kUnbounded),
                                            OneOf({{'1', '9'}}), Repeat(OneOf({{'0', '9'}}), 0, kUnbounded)});
    if (whole || schema.contains("multipleOf")) return Nothing();
    auto numbers = CharAutomaton::Of(*NumbersBetween(*low, *high));
    const auto fractions = CharAutomaton::Of(*kFraction);
    if (numbers && fractions) numbers = numbers->And(*fractions);
    if (!numbers) return Wrong(at.At("not"), "{}", numbers.error().message);
    return numbers->ToExpression();
  }
  if (const Value* multiple = schema.if_contains("multipleOf")) return Multiples(*multiple, *low, *high, at);
  if (!*low && !*high) return whole ? json_.Integer() : json_.Number();
  return whole ? IntegersBetween(*low, *high) : NumbersBetween(*low, *high);
}

// Multiples of an integer, which are integers.
Result<Expr> SchemaCompiler::Multiples(const Value& of, const std::optional<NumberBound>& low,
                                       const std::optional<NumberBound>& high, const Place& at) {
  boost::system::error_code inexact;
  const auto divisor = of.is_number() ? of.to_number<uint32_t>(inexact) : 0;
  if (!of.is_number() || inexact || divisor == 0 || divisor > kMaxDivisor) {
    return Wrong(at.At("multipleOf"), "is supported as an integer from 1 to {}", kMaxDivisor);
  }
  auto numbers = CharAutomaton::Of(*IntegersBetween(low, high));
  if (numbers) numbers = numbers->And(CharAutomaton::OfMultiples(divisor));
  if (!numbers) return Wrong(at.At("multipleOf"), "{}", numbers.error().message);
  return numbers->ToExpression();
}

Result<Expr> SchemaCompiler::String(const Object& schema, const Place& at) {
  const auto min = CountOf(schema, "minLength", at);
  if (!min) return Forward(min);
  const auto max = CountOf(schema, "maxLength", at);
  if (!max) return Forward(max);
  const Value* pattern = schema.if_contains("pattern");
  const Value* format = schema.if_contains("format");
  for (const auto& [keyword, value] : {std::pair("pattern", pattern), std::pair("format", format)}) {
    if (value != nullptr && !value->is_string()) return Wrong(at.At(keyword), "must be a string");
  }
  const StringFormat held_to = format == nullptr ? StringFormat{.known = true} : FindFormat(format->get_string());
  if (!held_to.known) {
    return Wrong(at.At("format"), "the format '{}' is not supported; supported are {}",
                 std::string_view(format->get_string()), KnownFormats());
  }
  if (held_to.pattern.empty()) format = nullptr;
  const bool bounded = *min || *max;
  const Value* never = schema.if_contains("not");
  if (pattern == nullptr && format == nullptr && never == nullptr) {
    return Placed(json_.String(min->value_or(0), max->value_or(kUnbounded)), at);
  }
  std::vector<Expr> contents;
  if (pattern != nullptr) {
    auto content = ParseRegex(pattern->get_string(), RegexScope::kSearch);
    if (!content) return Wrong(at.At("pattern"), "{}", content.error().message);
    contents.push_back(std::move(*content));
  }
  if (format != nullptr) {
    auto content = ParseRegex(held_to.pattern, RegexScope::kWhole);
    if (!content) return Wrong(at.At("format"), "{}", content.error().message);
    contents.push_back(std::move(*content));
  }
  if (contents.size() == 1 && !bounded && never == nullptr) return Placed(json_.Quoted(contents[0]), at);
  auto texts = CharAutomaton::OfLength(min->value_or(0), max->value_or(kUnbounded));
  for (const Expr& content : contents) {
    if (!texts) break;
    const auto other = CharAutomaton::Of(*content);
    texts = other ? texts->And(*other) : other;
  }
  if (texts && never != nullptr) {
    const auto excluded = NamesUnder(*never, at.At("not"));
    if (!excluded) return Forward(excluded);
    texts = texts->Without(*excluded);
  }
  if (!texts) return Wrong(at, "'pattern', 'format', 'not' and lengths: {}", texts.error().message);
  return Placed(json_.Quoted(*texts), at);
}

Expr SchemaCompiler::Enclosed(char open, Expr content, char close) {
  return Sequence({Literal(std::string(1, open)), json_.Space(), std::move(content), Literal(std::string(1, close))});
}

Result<Expr> SchemaCompiler::List(const Object& schema, const Place& at) {
  const auto asked_min = CountOf(schema, "minItems", at), asked_max = CountOf(schema, "maxItems", at);
  if (!asked_min) return Forward(asked_min);
  if (!asked_max) return Forward(asked_max);
  const uint32_t min = asked_min->value_or(0), max = asked_max->value_or(kUnbounded);
  const Value* unique = schema.if_contains("uniqueItems");
  if (unique != nullptr && *unique != false && max > 1) return Wrong(at.At("uniqueItems"), "is not supported");
  // Before 2020-12, a list under 'items' was today's 'prefixItems', and 'additionalItems' was today's 'items'.
  const Value* items = schema.if_contains("items");
  const bool is_tuple = items != nullptr && items->is_array();
  const std::string_view prefix_word = is_tuple ? "items" : "prefixItems";
  const std::string_view items_word = is_tuple ? "additionalItems" : "items";
  if (is_tuple && schema.contains("prefixItems")) return Wrong(at.At("items"), "is a list, beside 'prefixItems'");
  const Value* prefix = schema.if_contains(prefix_word);
  items = schema.if_contains(items_word);
  if (prefix != nullptr && !prefix->is_array()) return Wrong(at.At("prefixItems"), "must be a list of schemas");
  const size_t named = prefix == nullptr ? 0 : prefix->get_array().size();

  // After the named items, more are generated only if the schema describes or requires them.
  Expr rest = Nothing();
  if (items != nullptr) {
    auto item = Any(*items, at.At(items_word));
    if (!item) return item;
    rest = Call(json_.grammar().Add(at.At(items_word).path, std::move(*item)));
  } else if (named == 0 || min > named) {
    rest = json_.Value();
  }
  const auto behind = [&](uint32_t count) {  // arrays with that many unnamed items
    return count == kUnbounded ? count : count - static_cast<uint32_t>(std::min<size_t>(count, named));
  };
  Expr tail;  // from the first unnamed item on
  if (named == 0) {
    if (max == 0) return Enclosed('[', Literal(""), ']');
    tail = Sequence({rest, Repeat(Comma(rest), min > 0 ? min - 1 : 0, max == kUnbounded ? max : max - 1)});
    tail = Sequence({std::move(tail), json_.Space()});
    return Enclosed('[', min == 0 ? Optional(std::move(tail)) : std::move(tail), ']');
  }
  tail = Repeat(Comma(rest), behind(min), behind(max));
  for (size_t i = named; i-- > 0;) {
    if (i >= max) {
      tail = Literal("");
      continue;
    }
    auto item = Any(prefix->get_array()[i], at.At(prefix_word, i));
    if (!item) return item;
    tail = Sequence({i > 0 ? Comma(std::move(*item)) : std::move(*item), std::move(tail)});
    if (i >= min && i > 0) tail = Optional(std::move(tail));
  }
  tail = Sequence({std::move(tail), json_.Space()});
  return Enclosed('[', min == 0 ? Optional(std::move(tail)) : std::move(tail), ']');
}

Result<json::value> ReadSchema(const std::string& source) {
  if (source.size() > kMaxGrammarBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the schema has {} bytes; at most {} are taken", source.size(),
                kMaxGrammarBytes);
  }
  json::parse_options options;
  options.max_depth = kMaxJsonNesting;
  boost::system::error_code error;
  json::value schema = json::parse(source, error, {}, options);
  if (error) return Fail(ErrorCode::kInvalidArgument, "the schema is not valid JSON: {}", error.message());
  return schema;
}

Result<Grammar> GrammarOfSchema(const json::value& schema) {
  JsonGrammar json;
  auto body = SchemaCompiler(schema, json).Compile();
  if (!body) return Forward(body);
  return json.Finish("the schema", std::move(*body));
}

Grammar GrammarOfAnyObject() {
  JsonGrammar json;
  const Expr object = json.Object();
  json.grammar().root = object->rule;
  return std::move(json.grammar());
}

}  // namespace inferflux::text
