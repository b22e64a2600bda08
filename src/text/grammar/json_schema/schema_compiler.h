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

namespace inferflux::text {

inline constexpr size_t kMaxSchemaDepth = 128;
inline constexpr size_t kMaxChecks = 200'000;  // of listed values, one for each schema

bool IsOfType(const boost::json::value& value, std::string_view type);

class SchemaCompiler {
 public:
  using Value = boost::json::value;
  using Object = boost::json::object;
  using Array = boost::json::array;

  // Both must outlive it. Rules are added to `json`, which may already hold those of other schemas.
  SchemaCompiler(const Value& root, JsonGrammar& json) : root_(root), json_(json) {}

  // The expression of the documents that are valid under the root.
  Result<Expr> Compile() { return Any(root_, {}); }

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
  Status CheckKeywords(const Object& schema, const Place& at) const;

  // schema_alternatives.cpp
  Result<Expr> Alternatives(const Object& schema, std::string_view keyword, const Place& at);
  bool Apart(const Value& a, const Value& b, const Place& at, size_t depth) const;
  bool Misses(const Object& a, const Object& b) const;
  Result<Expr> Constants(const Object& schema, const Place& at);

  // json_schema.cpp
  Result<std::vector<std::string_view>> TypesOf(const Object& schema, const Place& at) const;
  Result<Expr> OfType(std::string_view type, const Object& schema, const Place& at);
  Result<Expr> Number(const Object& schema, bool whole, const Place& at);
  Result<Expr> Multiples(const Value& of, const std::optional<NumberBound>& low, const std::optional<NumberBound>& high,
                         const Place& at);
  Result<Expr> String(const Object& schema, const Place& at);
  Result<Expr> List(const Object& schema, const Place& at);

  // schema_object.cpp
  struct NamePattern {
    CharAutomaton names;
    const Value* schema = nullptr;
  };
  struct NamedMember {
    Expr member;
    bool required = false;
  };
  Result<Expr> Members(const Object& schema, const Place& at);
  Status CheckCounts(const Object& schema, size_t named, size_t required, bool open, const Place& at) const;
  Result<std::vector<NamedMember>> NamedMembers(const Object& schema, const Value* additional,
                                                const std::vector<NamePattern>& patterns, const CharAutomaton& names,
                                                const Place& at);
  Result<Expr> Others(const Object& schema, const Value* additional, const std::vector<NamePattern>& patterns,
                      const CharAutomaton& names, const Place& at);
  Expr InOrder(const std::vector<NamedMember>& members, const Expr& others, bool may_be_empty);

  // schema_names.cpp
  Result<std::vector<NamePattern>> NamePatterns(const Object& schema, const Place& at) const;
  Result<CharAutomaton> NamesUnder(const Value& schema, const Place& at) const;
  Result<Expr> OtherMembers(const std::vector<NamePattern>& patterns, CharAutomaton names, const Value* additional,
                            const Place& at);
  static Value ValueUnder(std::string_view name, const Value* own, const std::vector<NamePattern>& patterns,
                          const Value& additional);

  // schema_validate.cpp
  Result<bool> Holds(const Value& schema, const Value& value, const Place& at) const;
  Result<bool> HoldsKeyword(std::string_view keyword, const Value& content, const Object& schema, const Value& value,
                            const Place& at) const;

  // schema_negation.cpp
  static bool HasSugar(const Object& schema);
  Result<Object> WithoutSugar(const Object& schema, const Place& at) const;
  Result<Value> Negation(const Value& schema, const Place& at) const;
  Status AddNegation(std::string_view keyword, const Value& value, const Object& schema, const Place& at,
                     Array& out) const;

  // The numbers of a keyword; none if it is absent.
  Result<std::optional<uint32_t>> CountOf(const Object& schema, std::string_view keyword, const Place& at) const;
  Result<std::optional<NumberBound>> BoundOf(const Object& schema, bool low, const Place& at) const;

  Expr Comma(Expr item) { return Sequence({Literal(","), json_.Space(), std::move(item)}); }
  Expr Enclosed(char open, Expr content, char close);

  const Value& root_;
  JsonGrammar& json_;
  size_t steps_ = 0;
  mutable size_t negations_ = 0;
  mutable size_t checks_ = 0;
  std::map<std::string, RuleId, std::less<>> references_;  // by pointer
};

}  // namespace inferflux::text
