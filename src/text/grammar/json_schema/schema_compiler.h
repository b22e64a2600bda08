// Converts one JSON schema to expressions: one function for each kind of schema.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/automaton/char_automaton.h"
#include "text/grammar/json_schema/json_grammar.h"
#include "text/grammar/json_schema/number_range.h"
#include "text/grammar/json_schema/types/item_automaton.h"

namespace inferflux::text {

inline constexpr size_t kMaxSchemaDepth = 128;
inline constexpr size_t kMaxChecks = 200'000;  // of listed values, one for each schema

bool IsOfType(const boost::json::value& value, std::string_view type);
// The type that a keyword applies to; empty: any type.
std::string_view TypeOfKeyword(std::string_view keyword);

class SchemaCompiler {
 public:
  using Value = boost::json::value;
  using Object = boost::json::object;
  using Array = boost::json::array;

  // Both must outlive it. Rules are added to `json`, which may already hold those of other schemas.
  SchemaCompiler(const Value& root, JsonGrammar& json) : root_(root), json_(json) {}

  // The expression of the documents that are valid under the root.
  Result<Expr> Compile() { return Any(root_, {}); }

  // types/numbers.cpp: a schema of integers and multiples, and combinations of these.
  static bool IsOfMultiples(const Value& schema);

 private:
  // The place of a schema, as a JSON pointer, and its nesting depth.
  struct Place {
    std::string path;
    size_t depth = 0;
    Place At(std::string_view key) const;
    Place At(std::string_view key, size_t index) const;
  };
  template <class... Args>
  static tl::unexpected<Error> Wrong(const Place& at, fmt::format_string<Args...> format, Args&&... args) {
    return Fail(ErrorCode::kInvalidArgument, "at #{}: {}", at.path, fmt::format(format, std::forward<Args>(args)...));
  }
  // Adds the place to an error of the value syntax.
  static Result<Expr> Placed(Result<Expr> written, const Place& at) {
    if (!written) return Forward(written, "at #" + at.path);
    return written;
  }

  Result<Expr> Any(const Value& schema, const Place& at);
  Result<Expr> AnyObject(const Object& schema, const Place& at);

  // schema_references.cpp
  Result<const Value*> Resolve(const Value& reference, const Place& at) const;
  Result<Expr> CallReference(const Value& reference, const Place& at);
  Result<Object> Flatten(const Object& schema, const Place& at, size_t depth) const;
  static Status CloseWithin(Object& part, const Place& at);
  Status CheckKeywords(const Object& schema, const Place& at) const;

  // schema_alternatives.cpp
  Result<Expr> Alternatives(const Object& schema, std::string_view keyword, const Place& at);
  bool Apart(const Value& a, const Value& b, const Place& at, size_t depth) const;
  bool Misses(const Object& a, const Object& b) const;
  Result<Expr> Constants(const Object& schema, const Place& at);

  // json_schema.cpp
  Result<std::vector<std::string_view>> TypesOf(const Object& schema, const Place& at) const;
  Result<Expr> OfType(std::string_view type, const Object& schema, const Place& at);

  // types/numbers.cpp
  Result<std::optional<NumberBound>> BoundOf(const Object& schema, bool low, const Place& at) const;
  Result<Expr> Number(const Object& schema, bool whole, const Place& at);
  Result<CharAutomaton> NumbersUnder(const Value& schema, const Place& at) const;

  // types/strings.cpp
  Result<Expr> String(const Object& schema, const Place& at);

  // types/arrays.cpp
  struct Items {  // in the words of 2020-12
    const Array* named = nullptr;
    std::string_view named_keyword;
    const Value* rest = nullptr;
    std::string_view rest_keyword;
    size_t named_count() const { return named == nullptr ? 0 : named->size(); }
  };
  Result<Items> ItemsOf(const Object& schema, const Place& at) const;
  Result<Expr> List(const Object& schema, const Place& at);
  Result<Expr> UniqueItems(const Items& items, uint32_t min, uint32_t max, const Place& at);
  Result<Expr> CountedItems(const Object& schema, const Items& items, uint32_t min, uint32_t max, const Place& at);
  Expr ItemsBetween(const ItemAutomaton& automaton, bool may_be_empty);
  Result<std::optional<Array>> FiniteValues(const Value& schema, const Place& at) const;

  // schema_object.cpp
  struct NamePattern {
    CharAutomaton names;
    const Value* schema = nullptr;
  };
  struct NamedMember {
    std::string_view name;
    Value schema;
    std::string path;
    Expr member;
    bool required = false;
  };
  // Where members without a name of their own come from. `additional`: null if only patterns allow them.
  struct OtherNames {
    const Value* additional = nullptr;
    const std::vector<NamePattern>& patterns;
    const CharAutomaton& names;
  };
  Result<Expr> Members(const Object& schema, const Place& at);
  Result<std::vector<NamedMember>> NamedMembers(const Object& schema, const Value* additional,
                                                const std::vector<NamePattern>& patterns, const CharAutomaton& names,
                                                const Place& at);
  static std::vector<std::string_view> TakenNames(const Object& schema);
  static Result<CharAutomaton> WithoutNames(const CharAutomaton& names, const std::vector<std::string_view>& taken,
                                            const Place& at);
  Result<Expr> Others(const Object& schema, const OtherNames& from, const Place& at);
  Expr InOrder(const std::vector<NamedMember>& members, const Expr& others, bool may_be_empty);

  // types/counted_members.cpp
  struct WantedMember {  // some member must be like this
    CharAutomaton names;
    Value schema;
    Expr other;  // one that `properties` does not name; null: there is none
  };
  Result<std::vector<WantedMember>> WantedMembers(const Object& schema, const OtherNames& from, const Place& at);
  Result<Expr> CountedMembers(const Object& schema, const std::vector<NamedMember>& members, const OtherNames& from,
                              uint32_t min, uint32_t max, const Place& at);

  // schema_names.cpp
  Result<std::vector<NamePattern>> NamePatterns(const Object& schema, const Place& at) const;
  enum class Exactness : uint8_t { kAtMost, kAtLeast };  // where a format is known in part: fewer texts, or more
  // Adds the work for an automaton to that for the whole schema, which has a limit.
  Status Charge(const Result<CharAutomaton>& automaton, const Place& at) const;
  Result<const CharAutomaton*> TextsOf(std::string_view pattern, const Place& at) const;
  Result<CharAutomaton> TextsUnder(const Value& schema, Exactness exactness, const Place& at) const;
  Result<Expr> OtherMembers(const std::vector<NamePattern>& patterns, CharAutomaton names, const Value* additional,
                            const Value& also, const Place& at);
  static Value ValueUnder(std::string_view name, const Value* own, const std::vector<NamePattern>& patterns,
                          const Value& additional);

  // schema_validate.cpp
  Result<bool> Holds(const Value& schema, const Value& value, const Place& at) const;
  Result<bool> HoldsKeyword(std::string_view keyword, const Value& content, const Object& schema, const Value& value,
                            const Place& at) const;
  Result<bool> HoldsForObject(std::string_view keyword, const Value& content, const Object& schema, const Object& value,
                              const Place& at) const;
  Result<bool> HoldsForArray(std::string_view keyword, const Value& content, const Object& schema, const Array& value,
                             const Place& at) const;

  // schema_negation.cpp
  static bool HasSugar(const Object& schema);
  Result<Object> WithoutSugar(const Object& schema, const Place& at) const;
  Result<Value> Negation(const Value& schema, const Place& at) const;
  Status AddNegation(std::string_view keyword, const Value& value, const Object& schema, const Place& at,
                     Array& out) const;
  Status AddListNegation(std::string_view keyword, const Value& value, const Object& schema, const Place& at,
                         Array& out) const;
  Status AddMemberNegation(std::string_view keyword, const Value& value, const Object& schema, const Place& at,
                           Array& out) const;

  // The number of a keyword; none if it is absent.
  Result<std::optional<uint32_t>> CountOf(const Object& schema, std::string_view keyword, const Place& at) const;

  Expr Comma(Expr item) { return Sequence({json_.Comma(), std::move(item)}); }
  Expr Enclosed(char open, Expr content, char close);

  const Value& root_;
  JsonGrammar& json_;
  size_t steps_ = 0;
  mutable size_t negations_ = 0;
  mutable size_t checks_ = 0;
  mutable size_t automaton_work_ = 0;
  std::map<std::string, RuleId, std::less<>> references_;            // by pointer
  mutable std::map<std::string, CharAutomaton, std::less<>> texts_;  // by pattern
};

}  // namespace inferflux::text
