// Objects whose members are counted, or of which some member must be like this.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxWanted = 6;
constexpr size_t kMaxPositions = 8192;

// How far an object has come.
struct Position {
  uint32_t next = 0;    // of the named members
  uint32_t sure = 0;    // members whose names certainly differ, up to the minimum
  uint32_t total = 0;   // members, up to the maximum
  uint32_t wanted = 0;  // bits: the wanted members that are there
  bool has_other = false;
  bool is_closed = false;  // a further member could repeat the name of a wanted one, and replace its value
  auto operator<=>(const Position&) const = default;
};

}  // namespace

Result<std::vector<SchemaCompiler::WantedMember>> SchemaCompiler::WantedMembers(const Object& schema,
                                                                                const OtherNames& from,
                                                                                const Place& at) {
  std::vector<WantedMember> out;
  const Value* list = schema.if_contains(kSomeMembers);
  if (list == nullptr) return out;
  if (!list->is_array() || list->get_array().size() > kMaxWanted) {
    return Wrong(at, "what 'not', 'if' or 'oneOf' excludes from the members of this object is too much");
  }
  const auto free = WithoutNames(from.names, TakenNames(schema), at);
  if (!free) return Forward(free);
  for (const Value& each : list->get_array()) {
    const Value* names = each.is_object() ? each.get_object().if_contains("names") : nullptr;
    const Value* value = each.is_object() ? each.get_object().if_contains("value") : nullptr;
    if (names == nullptr || value == nullptr) return Wrong(at, "must be a list of names and values");
    auto texts = TextsUnder(*names, Exactness::kAtMost, at);
    if (!texts) return Forward(texts);
    WantedMember wanted{.names = std::move(*texts), .schema = *value, .other = nullptr};
    auto others = free->And(wanted.names);
    if (!others) return Wrong(at, "{}", others.error().message);
    if (!others->empty() && (from.additional != nullptr || !from.patterns.empty())) {
      auto other = OtherMembers(from.patterns, std::move(*others), from.additional, wanted.schema, at);
      if (!other) return Forward(other);
      wanted.other = Call(json_.grammar().Add(at.At("additionalProperties").path, std::move(*other)));
    }
    out.push_back(std::move(wanted));
  }
  return out;
}

Result<Expr> SchemaCompiler::CountedMembers(const Object& schema, const std::vector<NamedMember>& members,
                                            const OtherNames& from, uint32_t min, uint32_t max, const Place& at) {
  const auto wanted = WantedMembers(schema, from, at);
  if (!wanted) return Forward(wanted);
  Expr others;
  if (from.additional != nullptr || !from.patterns.empty()) {
    auto some = Others(schema, from, at);
    if (!some) return some;
    others = Call(json_.grammar().Add(at.At("additionalProperties").path, std::move(*some)));
  }
  const uint32_t all = (uint32_t{1} << wanted->size()) - 1;
  const uint32_t most = max == kUnbounded ? 1 : max;  // without a maximum, only the first member counts
  ItemAutomaton automaton;
  std::map<Position, uint32_t> known;
  std::vector<Position> positions;
  const auto state_of = [&](const Position& position) {
    const auto [found, is_new] = known.try_emplace(position, 0);
    if (is_new) {
      const bool done = position.next == members.size() && position.sure >= min && position.wanted == all;
      found->second = automaton.Add(done && position.total > 0);
      positions.push_back(position);
    }
    return found->second;
  };
  // With the requirements that any value of such a name meets.
  const auto met_by = [&](std::string_view name) {
    uint32_t bits = 0;
    for (size_t i = 0; i < wanted->size(); ++i) {
      const WantedMember& each = (*wanted)[i];
      if (each.schema == true && each.names.Matches(name)) bits |= uint32_t{1} << i;
    }
    return bits;
  };
  const auto read = [&](uint32_t state, Expr member, Position from_here, bool is_sure, uint32_t bits) {
    const bool first = from_here.total == 0;
    from_here.total = std::min(from_here.total + 1, most);
    if (is_sure) from_here.sure = std::min(from_here.sure + 1, min);
    from_here.wanted |= bits;
    automaton.Connect(state, first ? std::move(member) : Comma(std::move(member)), state_of(from_here));
  };
  std::map<std::pair<size_t, size_t>, Expr> made;  // a named member that is also a wanted one
  state_of({});
  for (uint32_t state = 0; state < positions.size(); ++state) {
    if (positions.size() > kMaxPositions) return Wrong(at, "the members need too many states to be counted");
    const Position here = positions[state];
    const bool full = max != kUnbounded && here.total == max;
    if (here.next < members.size()) {
      const NamedMember& member = members[here.next];
      Position behind = here;
      ++behind.next;
      if (!member.required) automaton.Connect(state, Literal(""), state_of(behind));
      if (full) continue;
      const uint32_t bits = met_by(member.name);
      read(state, member.member, behind, true, bits);
      for (size_t i = 0; i < wanted->size(); ++i) {
        const WantedMember& each = (*wanted)[i];
        if (each.schema == true || (here.wanted >> i & 1) != 0 || !each.names.Matches(member.name)) continue;
        Expr& both = made[{here.next, i}];
        if (!both) {
          const Place place{.path = member.path, .depth = at.depth + 1};
          auto value = Any(
              member.schema == true ? each.schema : Value(Object{{"allOf", Array{member.schema, each.schema}}}), place);
          if (!value) return value;
          auto name = Placed(json_.Name(member.name), place);
          if (!name) return name;
          both = Call(json_.grammar().Add(member.path, json_.Member(std::move(*name), std::move(*value))));
        }
        read(state, both, behind, true, bits | uint32_t{1} << i);
      }
      continue;
    }
    if (full || here.is_closed || !others) continue;
    Position next = here;
    next.has_other = true;
    read(state, others, next, !here.has_other, 0);
    for (size_t i = 0; i < wanted->size(); ++i) {
      const WantedMember& each = (*wanted)[i];
      if (!each.other || (here.wanted >> i & 1) != 0) continue;
      next.is_closed = each.schema != true;
      read(state, each.other, next, !here.has_other, uint32_t{1} << i);
    }
  }
  const bool any_required = std::ranges::any_of(members, &NamedMember::required);
  Expr some = Sequence({automaton.ToExpression(), json_.Space()});
  const bool may_be_empty = min == 0 && all == 0 && !any_required;
  return Enclosed('{', may_be_empty ? Optional(std::move(some)) : std::move(some), '}');
}

}  // namespace inferflux::text
