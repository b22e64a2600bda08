// The types that a field of a signature may have, as Python's annotations name them.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace inferflux::dspy {

struct FieldType {
  enum class Kind : uint8_t {
    kStr,
    kInt,
    kFloat,
    kBool,
    kNone,     // NoneType, in a union
    kAny,      // any JSON value
    kLiteral,  // one of `values`
    kEnum,     // one of `values`, which are also called `members`
    kList,     // of of[0]; of any values where there is none
    kDict,     // text to of[0]; to any values where there is none
    kUnion,    // one of `of`
    kObject,   // an object by `schema`
    kHistory,  // earlier turns of the conversation: {"messages": [{field: value}]}
  };

  Kind kind = Kind::kStr;
  std::string name = {};                  // of an enum or an object
  boost::json::array values = {};         // texts, integers, floats, booleans or null
  std::vector<std::string> members = {};  // as many as `values`
  std::vector<FieldType> of = {};
  boost::json::object schema = {};  // JSON Schema; may have "$defs"

  static FieldType Str() { return {.kind = Kind::kStr}; }
  static FieldType Int() { return {.kind = Kind::kInt}; }
  static FieldType Float() { return {.kind = Kind::kFloat}; }
  static FieldType Bool() { return {.kind = Kind::kBool}; }
  static FieldType Any() { return {.kind = Kind::kAny}; }
  static FieldType Literal(boost::json::array values) { return {.kind = Kind::kLiteral, .values = std::move(values)}; }
  static FieldType List(FieldType of) { return {.kind = Kind::kList, .of = {std::move(of)}}; }
  static FieldType Dict(FieldType of) { return {.kind = Kind::kDict, .of = {std::move(of)}}; }
  static FieldType Optional(FieldType of);
  // Unions within unions become one, and a type counts once.
  static FieldType Union(std::vector<FieldType> of);
  static FieldType Enum(std::string name, std::vector<std::pair<std::string, boost::json::value>> members);
  static FieldType Object(std::string name, boost::json::object schema) {
    return {.kind = Kind::kObject, .name = std::move(name), .schema = std::move(schema)};
  }
  static FieldType History() { return {.kind = Kind::kHistory}; }

  bool AllowsNone() const;

  friend bool operator==(const FieldType&, const FieldType&) = default;
};

// Enums and objects that a signature's text may name.
using NamedTypes = std::map<std::string, FieldType, std::less<>>;

// As DSPy's prompts name it: "list[int]", "Literal['a', 'b']", "Union[int, NoneType]".
std::string NameOf(const FieldType& type);

// As pydantic writes it, with "$defs" for what is named. Objects' members in DSPy's order: "type", then by name.
boost::json::object SchemaOf(const FieldType& type);

// The same in the order in which it was written, without "$defs": these go to `definitions`.
boost::json::object SchemaOf(const FieldType& type, boost::json::object& definitions);

}  // namespace inferflux::dspy
