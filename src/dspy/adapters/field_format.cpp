#include "dspy/adapters/field_format.h"

#include <boost/json/array.hpp>

#include "dspy/python/python_format.h"
#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

std::string Replace(std::string_view text, std::string_view what, std::string_view with) {
  std::string out;
  while (true) {
    const size_t at = text.find(what);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += with;
    text.remove_prefix(at + what.size());
  }
}

std::string FormatBlob(const std::string& blob) {
  const auto has = [&](std::string_view text) { return blob.find(text) != std::string::npos; };
  if (!has("\n") && !has("«") && !has("»")) return "«" + blob + "»";
  return "«««\n    " + Replace(blob, "\n", "\n    ") + "\n»»»";
}

std::string FormatBlobs(const boost::json::array& blobs) {
  if (blobs.empty()) return "N/A";
  if (blobs.size() == 1) return FormatBlob(PythonStr(blobs[0]));
  std::string out;
  for (size_t i = 0; i < blobs.size(); ++i) {
    out += fmt::format("{}[{}] {}", i > 0 ? "\n" : "", i + 1, FormatBlob(PythonStr(blobs[i])));
  }
  return out;
}

std::string JoinValues(const boost::json::array& values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += (i > 0 ? "; " : "") + PythonStr(values[i]);
  return out;
}

std::string Note(const FieldType& type) {
  switch (type.kind) {
    case FieldType::Kind::kStr:
      return {};
    case FieldType::Kind::kBool:
      return "must be True or False";
    case FieldType::Kind::kInt:
    case FieldType::Kind::kFloat:
      return fmt::format("must be a single {} value", NameOf(type));
    case FieldType::Kind::kEnum:
      return "must be one of: " + JoinValues(type.values);
    case FieldType::Kind::kLiteral:
      return "must exactly match (no extra characters) one of: " + JoinValues(type.values);
    default:
      return "must adhere to the JSON schema: " + JsonDumps(SchemaOf(type));
  }
}

}  // namespace

std::string FormatValue(const FieldType& type, const boost::json::value& value) {
  const auto* array = value.if_array();
  if (array && type.kind == FieldType::Kind::kStr) return FormatBlobs(*array);
  return array || value.is_object() ? JsonDumps(value) : PythonStr(value);
}

std::string DescribeFields(const std::vector<Field>& fields) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    const bool described = field.desc != "${" + field.name + "}";
    out += fmt::format("{}{}. `{}` ({}): {}", i > 0 ? "\n" : "", i + 1, field.name, NameOf(field.type),
                       described ? field.desc : "");
  }
  return std::string(Strip(out));
}

std::string Placeholder(const Field& field, bool output) {
  const std::string note = output ? Note(field.type) : std::string();
  return "{" + field.name + "}" + (note.empty() ? "" : "        # note: the value you produce " + note);
}

std::string TypeReminder(const Field& field) {
  if (field.type.kind == FieldType::Kind::kStr) return {};
  return fmt::format(" (must be formatted as a valid Python {})", NameOf(field.type));
}

}  // namespace inferflux::dspy
