// Schemas of objects. Members come in the schema's own order.
#include <algorithm>

#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxMemberName = 1024;

}  // namespace

Result<Expr> SchemaCompiler::Members(const Object& schema, const Place& at) {
  const Value* properties = schema.if_contains("properties");
  if (properties != nullptr && !properties->is_object()) return Wrong(at.At("properties"), "must be an object");
  const Value* additional = schema.if_contains("additionalProperties");
  // By now all that evaluates members is part of this schema.
  if (additional == nullptr) additional = schema.if_contains("unevaluatedProperties");
  static const Value kAny(true);
  const bool names_some = properties != nullptr && std::ranges::any_of(properties->get_object(), [](const auto& entry) {
                            return entry.value() != false;
                          });
  if (additional == nullptr && !names_some) additional = &kAny;
  const auto patterns = NamePatterns(schema, at);
  if (!patterns) return Forward(patterns);
  static const Value kAnyName(true);
  const Value* named = schema.if_contains("propertyNames");
  const auto names = TextsUnder(named != nullptr ? *named : kAnyName, Exactness::kAtMost, at.At("propertyNames"));
  if (!names) return Forward(names);
  auto members = NamedMembers(schema, additional, *patterns, *names, at);
  if (!members) return Forward(members);
  const auto min = CountOf(schema, "minProperties", at), max = CountOf(schema, "maxProperties", at);
  if (!min) return Forward(min);
  if (!max) return Forward(max);
  const auto required = static_cast<size_t>(std::ranges::count(*members, true, &NamedMember::required));
  const bool open = (additional != nullptr && *additional != false) || !patterns->empty();
  const bool counts_up = min->value_or(0) > std::max<size_t>(required, 1);
  const bool counts_down = *max && !members->empty() && (open || **max < members->size());
  if (counts_up && members->empty()) {
    return Wrong(at.At("minProperties"), "is supported up to 1, or where 'properties' or 'required' name members");
  }
  const OtherNames others_from{
      .additional = open && additional != nullptr && *additional != false ? additional : nullptr,
      .patterns = *patterns,
      .names = *names};
  if (counts_up || counts_down || schema.contains(kSomeMembers)) {
    return CountedMembers(schema, *members, others_from, min->value_or(0), max->value_or(kUnbounded), at);
  }
  Expr others = Nothing();
  if (open) {
    auto some = Others(schema, others_from, at);
    if (!some) return some;
    others = Call(json_.grammar().Add(at.At("additionalProperties").path, std::move(*some)));
  }
  const bool may_be_empty = min->value_or(0) == 0;
  if (members->empty()) {
    const uint32_t most = max->value_or(kUnbounded);
    if (most == 0) return may_be_empty ? Enclosed('{', Literal(""), '}') : Nothing();
    Expr some = Sequence({others, Repeat(Comma(others), 0, most == kUnbounded ? most : most - 1), json_.Space()});
    return Enclosed('{', may_be_empty ? Optional(std::move(some)) : std::move(some), '}');
  }
  return Enclosed('{', InOrder(*members, others, may_be_empty), '}');
}

// The names that the schema gives to members.
std::vector<std::string_view> SchemaCompiler::TakenNames(const Object& schema) {
  std::vector<std::string_view> taken;
  if (const Value* properties = schema.if_contains("properties")) {
    for (const auto& [name, value] : properties->get_object()) taken.push_back(name);
  }
  if (const Value* list = schema.if_contains("required")) {
    for (const Value& name : list->get_array()) taken.push_back(name.get_string());
  }
  return taken;
}

// Unnamed members.
Result<Expr> SchemaCompiler::Others(const Object& schema, const OtherNames& from, const Place& at) {
  const auto taken = TakenNames(schema);
  if (!from.patterns.empty() || schema.contains("propertyNames")) {
    auto free = WithoutNames(from.names, taken, at);
    if (!free) return Forward(free);
    return OtherMembers(from.patterns, std::move(*free), from.additional, Value(true), at);
  }
  auto value = Any(*from.additional, at.At("additionalProperties"));
  if (!value) return value;
  auto name = Placed(json_.NameExcept(taken), at.At("additionalProperties"));
  if (!name) return name;
  return json_.Member(std::move(*name), std::move(*value));
}

Result<CharAutomaton> SchemaCompiler::WithoutNames(const CharAutomaton& names,
                                                   const std::vector<std::string_view>& taken, const Place& at) {
  std::vector<Expr> texts;
  for (const std::string_view name : taken) texts.push_back(Literal(std::string(name)));
  const auto listed = CharAutomaton::Of(*Choice(std::move(texts)));
  auto free = listed ? names.Without(*listed) : listed;
  if (!free) return Wrong(at, "{}", free.error().message);
  return free;
}

Result<std::vector<SchemaCompiler::NamedMember>> SchemaCompiler::NamedMembers(const Object& schema,
                                                                              const Value* additional,
                                                                              const std::vector<NamePattern>& patterns,
                                                                              const CharAutomaton& names,
                                                                              const Place& at) {
  static const Value kAny(true);
  static const Value kNever(false);
  const Value& unnamed = additional != nullptr ? *additional : kAny;
  std::vector<std::string_view> required;
  if (const Value* list = schema.if_contains("required")) {
    if (!list->is_array()) return Wrong(at.At("required"), "must be a list of names");
    for (const Value& name : list->get_array()) {
      if (!name.is_string()) return Wrong(at.At("required"), "must be a list of names");
      required.push_back(name.get_string());
    }
  }
  std::vector<NamedMember> members;
  const auto add = [&](std::string_view name, const Value* own, const Place& place) -> Status {
    if (name.size() > kMaxMemberName) return Wrong(place, "a name of more than {} bytes", kMaxMemberName);
    const Value value = names.Matches(name) ? ValueUnder(name, own, patterns, unnamed) : kNever;
    auto body = Any(value, place);
    if (!body) return Forward(body);
    const bool is_required = std::ranges::find(required, name) != required.end();
    if (value == false && !is_required) return {};  // never present
    auto written = Placed(json_.Name(name), place);
    if (!written) return Forward(written);
    Expr member = json_.Member(std::move(*written), std::move(*body));
    members.push_back({.name = name,
                       .schema = value,
                       .path = place.path,
                       .member = Call(json_.grammar().Add(place.path, std::move(member))),
                       .required = is_required});
    return {};
  };
  const Value* properties = schema.if_contains("properties");
  if (properties != nullptr) {
    for (const auto& [name, value] : properties->get_object()) {
      if (auto added = add(name, &value, at.At("properties").At(name)); !added) return Forward(added);
    }
  }
  for (size_t i = 0; i < required.size(); ++i) {
    const std::string_view name = required[i];
    if (properties != nullptr && properties->get_object().contains(name)) continue;
    if (std::ranges::find(required.begin(), required.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        required.begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    if (auto added = add(name, nullptr, at.At("required")); !added) return Forward(added);
  }
  return members;
}

// Each member at most once; a comma between any two.
Expr SchemaCompiler::InOrder(const std::vector<NamedMember>& members, const Expr& others, bool may_be_empty) {
  const Expr more = Repeat(Comma(others), 0, kUnbounded);
  const auto first = std::ranges::find(members, true, &NamedMember::required);
  if (first != members.end()) {
    std::vector<Expr> parts;
    for (auto at = members.begin(); at != members.end(); ++at) {
      if (at < first) {
        parts.push_back(Optional(Sequence({at->member, json_.Comma()})));
      } else if (at == first) {
        parts.push_back(at->member);
      } else {
        parts.push_back(at->required ? Comma(at->member) : Optional(Comma(at->member)));
      }
    }
    parts.push_back(more);
    parts.push_back(json_.Space());
    return Sequence(std::move(parts));
  }
  // Any member may be the first: `rest` is what may follow it.
  Expr rest = Sequence({more, json_.Space()});
  std::vector<Expr> ways = {Sequence({others, rest})};
  for (size_t i = members.size(); i-- > 0;) {
    ways.push_back(Sequence({members[i].member, rest}));
    rest = Call(json_.grammar().Add("the following members", Sequence({Optional(Comma(members[i].member)), rest})));
  }
  Expr some = Choice(std::move(ways));
  return may_be_empty ? Optional(std::move(some)) : some;
}

}  // namespace inferflux::text
