// Arrays.
#include <algorithm>
#include <map>
#include <utility>

#include "text/grammar/json_schema/schema_compiler.h"
#include "text/grammar/json_schema/schema_keywords.h"
#include "text/grammar/json_schema/types/item_automaton.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxInAnyOrder = 8;  // unique values that may come in any order
constexpr size_t kMaxUnique = 200;    // unique values
constexpr uint32_t kMaxCounted = 4096;

}  // namespace

// Before 2020-12, a list under 'items' was today's 'prefixItems', and 'additionalItems' was today's 'items'.
Result<SchemaCompiler::Items> SchemaCompiler::ItemsOf(const Object& schema, const Place& at) const {
  const Value* items = schema.if_contains("items");
  const bool is_tuple = items != nullptr && items->is_array();
  if (is_tuple && schema.contains("prefixItems")) return Wrong(at.At("items"), "is a list, beside 'prefixItems'");
  Items out{.named = nullptr,
            .named_keyword = is_tuple ? "items" : "prefixItems",
            .rest = nullptr,
            .rest_keyword = is_tuple ? "additionalItems" : "items"};
  const Value* prefix = schema.if_contains(out.named_keyword);
  if (prefix != nullptr && !prefix->is_array()) return Wrong(at.At("prefixItems"), "must be a list of schemas");
  if (prefix != nullptr) out.named = &prefix->get_array();
  out.rest = schema.if_contains(out.rest_keyword);
  return out;
}

Result<Expr> SchemaCompiler::List(const Object& schema, const Place& at) {
  const auto asked_min = CountOf(schema, "minItems", at), asked_max = CountOf(schema, "maxItems", at);
  if (!asked_min) return Forward(asked_min);
  if (!asked_max) return Forward(asked_max);
  const uint32_t min = asked_min->value_or(0), max = asked_max->value_or(kUnbounded);
  if (min > max) return Nothing();
  const auto items = ItemsOf(schema, at);
  if (!items) return Forward(items);
  const Value* unique = schema.if_contains("uniqueItems");
  const bool some = schema.contains("contains") || schema.contains(kSomeItems);
  if (unique != nullptr && *unique != false && max > 1) {
    if (some) return Wrong(at.At("uniqueItems"), "is not supported beside 'contains'");
    return UniqueItems(*items, min, max, at);
  }
  if (some) return CountedItems(schema, *items, min, max, at);
  const size_t named = items->named_count();

  // After the named items, more are generated only if the schema describes or requires them.
  Expr rest = Nothing();
  if (items->rest != nullptr) {
    auto item = Any(*items->rest, at.At(items->rest_keyword));
    if (!item) return item;
    rest = Call(json_.grammar().Add(at.At(items->rest_keyword).path, std::move(*item)));
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
    auto item = Any((*items->named)[i], at.At(items->named_keyword, i));
    if (!item) return item;
    tail = Sequence({i > 0 ? Comma(std::move(*item)) : std::move(*item), std::move(tail)});
    if (i >= min && i > 0) tail = Optional(std::move(tail));
  }
  tail = Sequence({std::move(tail), json_.Space()});
  return Enclosed('[', min == 0 ? Optional(std::move(tail)) : std::move(tail), ']');
}

// All values that a schema allows, if they are listed; none if there may be others.
Result<std::optional<json::array>> SchemaCompiler::FiniteValues(const Value& schema, const Place& at) const {
  if (schema == false) return std::optional(Array());
  if (!schema.is_object()) return std::optional<Array>();
  auto flat = Flatten(schema.get_object(), at, 0);
  if (!flat) return Forward(flat);
  Array candidates;
  if (const Value* constant = flat->if_contains("const")) {
    candidates = {*constant};
  } else if (const Value* listed = flat->if_contains("enum"); listed != nullptr && listed->is_array()) {
    candidates = listed->get_array();
  } else {
    const Value* type = flat->if_contains("type");
    const Array types = type == nullptr ? Array() : type->is_array() ? type->get_array() : Array{*type};
    if (types.empty()) return std::optional<Array>();
    for (const Value& each : types) {
      if (each == "boolean") {
        candidates.push_back(true), candidates.push_back(false);
      } else if (each == "null") {
        candidates.push_back(nullptr);
      } else {
        return std::optional<Array>();
      }
    }
  }
  if (candidates.size() > kMaxUnique) return Wrong(at, "lists more than {} values, which must be unique", kMaxUnique);
  Array out;
  flat->erase("enum");
  flat->erase("const");
  const Value rest(std::move(*flat));
  for (const Value& value : candidates) {
    const auto fits = Holds(rest, value, at);
    if (!fits) return Forward(fits);
    const auto known = Holds(Object{{"enum", out}}, value, at);
    if (!known) return Forward(known);
    if (*fits && !*known) out.push_back(value);
  }
  return std::optional(std::move(out));
}

// Values from a list, each at most once: in any order if they are few, else in the order of the list.
Result<Expr> SchemaCompiler::UniqueItems(const Items& items, uint32_t min, uint32_t max, const Place& at) {
  const Place place = at.At("uniqueItems");
  auto values = items.named_count() > 0 || items.rest == nullptr ? Result<std::optional<Array>>(std::optional<Array>())
                                                                 : FiniteValues(*items.rest, at.At(items.rest_keyword));
  if (!values) return Forward(values);
  if (!*values) {
    return Wrong(place, "is supported for items that 'enum', 'const' or their types list, or with 'maxItems' up to 1");
  }
  const size_t count = (*values)->size();
  std::vector<Expr> ways;
  for (const Value& value : **values) {
    auto way = Placed(json_.Constant(value), place);
    if (!way) return way;
    ways.push_back(Call(json_.grammar().Add(place.path, std::move(*way))));
  }
  const bool any_order = count <= kMaxInAnyOrder;
  // A position is what has been used: the set of values, or the last one and how many came before it.
  ItemAutomaton automaton;
  std::map<std::pair<size_t, size_t>, uint32_t> known;
  std::vector<std::pair<size_t, size_t>> positions;
  const auto state_of = [&](size_t used, size_t taken) {
    const auto [found, is_new] = known.try_emplace({used, taken}, 0);
    if (is_new) {
      found->second = automaton.Add(!positions.empty() && taken >= min);
      positions.emplace_back(used, taken);
    }
    return found->second;
  };
  state_of(0, 0);
  const size_t most = std::min<size_t>(max, count);
  const bool counts = min > 0 || most < count;
  for (size_t at_state = 0; at_state < positions.size(); ++at_state) {
    const auto [used, taken] = positions[at_state];
    if (taken == most && counts) continue;
    for (size_t i = any_order ? 0 : used; i < count; ++i) {
      if (any_order && (used >> i & 1) != 0) continue;
      const bool first = used == 0;
      const size_t next = any_order ? used | size_t{1} << i : i + 1;
      automaton.Connect(static_cast<uint32_t>(at_state), first ? ways[i] : Comma(ways[i]),
                        state_of(next, counts ? taken + 1 : 0));
    }
    if (positions.size() > kMaxCounted) return Wrong(place, "the values and counts need too many states");
  }
  return ItemsBetween(automaton, min == 0);
}

// Arrays in which some items must match a schema ('contains').
Result<Expr> SchemaCompiler::CountedItems(const Object& schema, const Items& items, uint32_t min, uint32_t max,
                                          const Place& at) {
  struct Wanted {
    Value schema;
    uint32_t min = 1;
    uint32_t max = kUnbounded;
    Value others = true;  // what an item that is not counted must be, if there is a maximum
  };
  std::vector<Wanted> wanted;
  if (const Value* contains = schema.if_contains("contains")) {
    const auto least = CountOf(schema, "minContains", at), most = CountOf(schema, "maxContains", at);
    if (!least) return Forward(least);
    if (!most) return Forward(most);
    wanted.push_back({.schema = *contains, .min = least->value_or(1), .max = most->value_or(kUnbounded)});
    if (*most) {
      auto others = Negation(*contains, at.At("contains"));
      if (!others) return Forward(others);
      wanted.back().others = std::move(*others);
    }
  }
  if (const Value* list = schema.if_contains(kSomeItems)) {
    if (!list->is_array()) return Wrong(at, "must be a list of schemas");
    for (const Value& each : list->get_array()) wanted.push_back({.schema = each});
  }
  const uint32_t named = static_cast<uint32_t>(items.named_count());
  const Value any(true);
  const Value& rest = items.rest != nullptr ? *items.rest : any;
  const uint32_t last = std::max(named, max == kUnbounded ? min : max);  // beyond it, positions are alike
  // The item at a position that also matches a schema, by position (those behind the named ones are alike) and schema.
  std::map<std::pair<uint32_t, size_t>, Expr> made;
  const auto item_at = [&](uint32_t position, size_t which, const Value& also) -> Result<Expr> {
    const uint32_t own = std::min(position, named);
    const auto found = made.find({own, which});
    if (found != made.end()) return found->second;
    const Value& item = own < named ? (*items.named)[own] : rest;
    const Place place = own < named ? at.At(items.named_keyword, own) : at.At(items.rest_keyword);
    auto built = Any(also == true ? item : item == true ? also : Value(Object{{"allOf", Array{item, also}}}), place);
    if (!built) return built;
    return made[{own, which}] = Call(json_.grammar().Add(place.path, std::move(*built)));
  };
  ItemAutomaton automaton;
  using Position = std::vector<uint32_t>;  // how many items, and how many of them were counted for each schema
  std::map<Position, uint32_t> known;
  std::vector<Position> positions;
  const auto cap = [&](const Wanted& each) { return each.max == kUnbounded ? each.min : each.max; };
  const auto state_of = [&](const Position& position) {
    const auto [found, is_new] = known.try_emplace(position, 0);
    if (is_new) {
      bool final = !positions.empty() && position[0] >= min;
      for (size_t i = 0; i < wanted.size(); ++i) final = final && position[i + 1] >= wanted[i].min;
      found->second = automaton.Add(final);
      positions.push_back(position);
    }
    return found->second;
  };
  state_of(Position(wanted.size() + 1, 0));
  Value others = true;
  for (const Wanted& each : wanted) {
    if (each.others != true) others = each.others;
  }
  for (size_t state = 0; state < positions.size(); ++state) {
    if (positions.size() > kMaxCounted) return Wrong(at.At("contains"), "the counts need too many states");
    const Position position = positions[state];
    if (max != kUnbounded && position[0] == max) continue;
    const auto connect = [&](size_t which, const Value& also, const Position& next) -> Status {
      auto item = item_at(position[0], which, also);
      if (!item) return Forward(item);
      const bool first = state == 0;
      automaton.Connect(static_cast<uint32_t>(state), first ? *item : Comma(*item), state_of(next));
      return {};
    };
    Position next = position;
    next[0] = std::min(position[0] + 1, std::max(last, 1U));
    if (auto done = connect(0, others, next); !done) return Forward(done);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (position[i + 1] == cap(wanted[i])) continue;
      Position counted = next;
      ++counted[i + 1];
      if (auto done = connect(i + 1, wanted[i].schema, counted); !done) return Forward(done);
    }
  }
  return ItemsBetween(automaton,
                      min == 0 && std::ranges::all_of(wanted, [](const Wanted& each) { return each.min == 0; }));
}

// The items that an automaton reads, in brackets. `may_be_empty`: without an item too.
Expr SchemaCompiler::ItemsBetween(const ItemAutomaton& automaton, bool may_be_empty) {
  Expr some = Sequence({automaton.ToExpression(), json_.Space()});
  return Enclosed('[', may_be_empty ? Optional(std::move(some)) : std::move(some), ']');
}

}  // namespace inferflux::text
