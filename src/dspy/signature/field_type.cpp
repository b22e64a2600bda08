#include "dspy/signature/field_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dspy/python/python_format.h"

namespace inferflux::dspy {
namespace {

// As DSPy quotes a text in Literal[...]: in single quotes, in double ones where it has only single ones.
std::string QuoteForLiteral(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  if (!has_single) return fmt::format("'{}'", text);
  if (text.find('"') == std::string_view::npos) return fmt::format("\"{}\"", text);
  std::string escaped;
  for (const char c : text) escaped += c == '\'' ? std::string("\\'") : std::string(1, c);
  return fmt::format("'{}'", escaped);
}

std::string_view TypeOfValues(const boost::json::array& values) {
  const auto all = [&](auto is) { return std::ranges::all_of(values, is); };
  if (all([](const auto& v) { return v.is_string(); })) return "string";
  if (all([](const auto& v) { return v.is_int64() || v.is_uint64(); })) return "integer";
  if (all([](const auto& v) { return v.is_bool(); })) return "boolean";
  if (all([](const auto& v) { return v.is_double(); })) return "number";
  if (all([](const auto& v) { return v.is_null(); })) return "null";
  return {};
}

boost::json::object SchemaOfValues(const boost::json::array& values) {
  boost::json::object schema;
  if (values.size() == 1) {
    schema["const"] = values[0];
  } else {
    schema["enum"] = values;
  }
  if (const auto type = TypeOfValues(values); !type.empty()) schema["type"] = type;
  return schema;
}

boost::json::value TypeFirst(const boost::json::value& value) {
  if (const auto* array = value.if_array()) {
    boost::json::array out;
    for (const auto& item : *array) out.push_back(TypeFirst(item));
    return out;
  }
  const auto* object = value.if_object();
  if (!object) return value;
  std::vector<std::string_view> names;
  for (const auto& [name, member] : *object) names.emplace_back(name.data(), name.size());
  std::ranges::sort(names, {}, [](std::string_view name) { return std::pair(name != "type", name); });
  boost::json::object out;
  for (const std::string_view name : names) out[name] = TypeFirst(object->at(name));
  return out;
}

boost::json::object Reference(const FieldType& type, boost::json::object schema, boost::json::object& definitions) {
  if (auto* inner = schema.if_contains("$defs"); inner && inner->is_object()) {
    for (const auto& [name, definition] : inner->get_object()) definitions[name] = definition;
    schema.stable_erase(schema.find("$defs"));
  }
  // A type that contains itself is only a reference to its own definition.
  const auto* reference = schema.if_contains("$ref");
  if (!reference || *reference != boost::json::value("#/$defs/" + type.name)) {
    definitions[type.name] = std::move(schema);
  }
  return {{"$ref", "#/$defs/" + type.name}};
}

}  // namespace

FieldType FieldType::Optional(FieldType of) { return Union({std::move(of), FieldType{.kind = Kind::kNone}}); }

FieldType FieldType::Union(std::vector<FieldType> of) {
  FieldType all{.kind = Kind::kUnion};
  const auto add = [&](FieldType type) {
    if (std::ranges::find(all.of, type) == all.of.end()) all.of.push_back(std::move(type));
  };
  for (FieldType& type : of) {
    if (type.kind == Kind::kUnion) {
      for (FieldType& inner : type.of) add(std::move(inner));
    } else {
      add(std::move(type));
    }
  }
  if (all.of.size() == 1) return FieldType(std::move(all.of[0]));
  return all;
}

FieldType FieldType::Enum(std::string name, std::vector<std::pair<std::string, boost::json::value>> members) {
  FieldType type{.kind = Kind::kEnum, .name = std::move(name)};
  for (auto& [member, value] : members) {
    type.members.push_back(std::move(member));
    type.values.push_back(std::move(value));
  }
  return type;
}

bool FieldType::AllowsNone() const {
  return kind == Kind::kNone || (kind == Kind::kUnion && std::ranges::any_of(of, &FieldType::AllowsNone));
}

std::string NameOf(const FieldType& type) {
  const auto with = [](std::string name, const std::vector<FieldType>& of) {
    name += '[';
    for (size_t i = 0; i < of.size(); ++i) name += (i > 0 ? ", " : "") + NameOf(of[i]);
    return name + "]";
  };
  switch (type.kind) {
    case FieldType::Kind::kStr:
      return "str";
    case FieldType::Kind::kInt:
      return "int";
    case FieldType::Kind::kFloat:
      return "float";
    case FieldType::Kind::kBool:
      return "bool";
    case FieldType::Kind::kNone:
      return "NoneType";
    case FieldType::Kind::kAny:
      return "Any";
    case FieldType::Kind::kHistory:
      return "History";
    case FieldType::Kind::kList:
      return type.of.empty() ? "list" : with("list", type.of);
    case FieldType::Kind::kDict:
      return type.of.empty() ? "dict" : with("dict", {FieldType::Str(), type.of[0]});
    case FieldType::Kind::kUnion:
      return with("Union", type.of);
    case FieldType::Kind::kEnum:
    case FieldType::Kind::kObject:
      return type.name;
    case FieldType::Kind::kLiteral:
      break;
  }
  std::string name = "Literal[";
  for (size_t i = 0; i < type.values.size(); ++i) {
    if (i > 0) name += ", ";
    const auto* text = type.values[i].if_string();
    name += text ? QuoteForLiteral({text->data(), text->size()}) : PythonStr(type.values[i]);
  }
  return name + "]";
}

boost::json::object SchemaOf(const FieldType& type, boost::json::object& definitions) {
  switch (type.kind) {
    case FieldType::Kind::kStr:
      return {{"type", "string"}};
    case FieldType::Kind::kInt:
      return {{"type", "integer"}};
    case FieldType::Kind::kFloat:
      return {{"type", "number"}};
    case FieldType::Kind::kBool:
      return {{"type", "boolean"}};
    case FieldType::Kind::kNone:
      return {{"type", "null"}};
    case FieldType::Kind::kAny:
      return {};
    case FieldType::Kind::kHistory:
      return {{"type", "object"}};
    case FieldType::Kind::kLiteral:
      return SchemaOfValues(type.values);
    case FieldType::Kind::kEnum: {
      boost::json::object schema = SchemaOfValues(type.values);
      schema["title"] = type.name;
      return Reference(type, std::move(schema), definitions);
    }
    case FieldType::Kind::kList:
      return {{"type", "array"},
              {"items", type.of.empty() ? boost::json::object() : SchemaOf(type.of[0], definitions)}};
    case FieldType::Kind::kDict: {
      boost::json::object schema = {{"type", "object"}};
      if (type.of.empty() || type.of[0].kind == FieldType::Kind::kAny) {
        schema["additionalProperties"] = true;
      } else {
        schema["additionalProperties"] = SchemaOf(type.of[0], definitions);
      }
      return schema;
    }
    case FieldType::Kind::kUnion: {
      boost::json::array ways;
      for (const FieldType& way : type.of) ways.push_back(SchemaOf(way, definitions));
      return {{"anyOf", std::move(ways)}};
    }
    case FieldType::Kind::kObject:
      break;
  }
  return Reference(type, type.schema, definitions);
}

boost::json::object SchemaOf(const FieldType& type) {
  if (type.kind == FieldType::Kind::kObject) return TypeFirst(type.schema).as_object();
  boost::json::object definitions;
  boost::json::object schema = SchemaOf(type, definitions);
  if (type.kind == FieldType::Kind::kEnum) schema = boost::json::object(definitions.at(type.name).as_object());
  if (type.kind != FieldType::Kind::kEnum && !definitions.empty()) schema["$defs"] = std::move(definitions);
  return TypeFirst(schema).as_object();
}

}  // namespace inferflux::dspy
