// Signatures from text and from their builder: both end in Build, which checks names.
#include <algorithm>
#include <optional>

#include "dspy/python/python_text.h"
#include "dspy/signature/json_schema_check.h"
#include "dspy/signature/signature.h"
#include "dspy/signature/type_parser.h"

namespace inferflux::dspy {
namespace {

constexpr size_t kMaxSignatureBytes = 64 * 1024;

std::string QuotedNames(const std::vector<Field>& fields) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) out += (i > 0 ? ", `" : "`") + fields[i].name + "`";
  return out;
}

// Schemas of objects, wherever they are in the type.
Status CheckTypes(const FieldType& type) {
  if (type.kind == FieldType::Kind::kObject) return CheckSchema(type.schema);
  for (const FieldType& inner : type.of) {
    if (auto checked = CheckTypes(inner); !checked) return checked;
  }
  return {};
}

// Prompts and grammars keep definitions by name, so one name is one type. The name that is not; empty where all are.
std::string ClashingName(const FieldType& type, boost::json::object& known) {
  boost::json::object definitions;
  SchemaOf(FieldType::List(type), definitions);
  for (const auto& [name, definition] : definitions) {
    const auto [entry, is_new] = known.emplace(name, definition);
    if (!is_new && entry->value() != definition) return std::string(name);
  }
  return {};
}

// One side: fields until "->" or the end, with a comma after each but the last, where it may be.
template <class Add>
Status ParseSide(TypeParser& parser, Add add) {
  while (true) {
    parser.Enter("");
    parser.SkipSpace();
    if (parser.AtEnd() || parser.Rest().starts_with("->")) return {};
    const size_t position = parser.at();
    const std::string name(parser.TakeName());
    if (name.empty()) return parser.Wrong("a field must begin with a letter or '_'");
    parser.Enter(name);
    FieldType type = FieldType::Str();
    if (parser.Take(":")) {
      auto parsed = parser.Parse();
      if (!parsed) return Forward(parsed);
      type = std::move(*parsed);
    }
    if (auto added = add(name, std::move(type), position); !added) return added;
    if (parser.Take(",")) continue;
    parser.SkipSpace();
    if (!parser.AtEnd() && !parser.Rest().starts_with("->")) return parser.Wrong("a ',' or '->' is missing");
  }
}

}  // namespace

Result<Signature> Signature::Parse(std::string_view text, std::optional<std::string> instructions,
                                   const NamedTypes& types) {
  if (text.size() > kMaxSignatureBytes) {
    return FailAt("", 0, "the signature has {} bytes; at most {} are taken", text.size(), kMaxSignatureBytes);
  }
  TypeParser parser(text, types);
  SignatureBuilder builder;
  if (instructions) builder.Instruction(std::move(*instructions));
  std::vector<std::string> seen;
  const auto check = [&](const std::string& name, size_t position) -> Status {
    if (std::ranges::find(seen, name) != seen.end()) {
      return FailAt(name, position, "the field '{}' occurs twice, again at byte {} of '{}'", name, position, text);
    }
    seen.push_back(name);
    return {};
  };
  auto inputs = ParseSide(parser, [&](std::string name, FieldType type, size_t position) -> Status {
    if (auto unique = check(name, position); !unique) return unique;
    builder.Input(std::move(name), std::move(type));
    return {};
  });
  if (!inputs) return Forward(inputs);
  parser.Enter("");
  if (!parser.Take("->")) return parser.Wrong("'->' is missing");
  const size_t arrow = parser.at();
  size_t outputs = 0;
  auto right = ParseSide(parser, [&](std::string name, FieldType type, size_t position) -> Status {
    if (auto unique = check(name, position); !unique) return unique;
    builder.Output(std::move(name), std::move(type));
    ++outputs;
    return {};
  });
  if (!right) return Forward(right);
  parser.Enter("");
  parser.SkipSpace();
  if (!parser.AtEnd()) return parser.Wrong("'->' occurs twice");
  if (outputs == 0) return FailAt("", arrow, "the signature '{}' has no output field after '->'", text);
  return builder.Build();
}

SignatureBuilder& SignatureBuilder::Instruction(std::string text) {
  instructions_ = std::move(text);
  return *this;
}

SignatureBuilder& SignatureBuilder::Input(std::string name, FieldType type, std::string desc, std::string prefix) {
  entries_.push_back({{std::move(name), std::move(type), std::move(desc), std::move(prefix)}, false});
  return *this;
}

SignatureBuilder& SignatureBuilder::Output(std::string name, FieldType type, std::string desc, std::string prefix) {
  entries_.push_back({{std::move(name), std::move(type), std::move(desc), std::move(prefix)}, true});
  return *this;
}

Result<Signature> SignatureBuilder::Build() const {
  Signature signature;
  const NamedTypes none;
  boost::json::object known;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Field& field = entries_[i].field;
    TypeParser name(field.name, none);
    if (name.TakeName() != field.name || field.name.empty()) {
      return FailAt(field.name, i, "the field '{}', number {}, needs a name of letters, digits and '_'", field.name,
                    i + 1);
    }
    if (signature.FindInput(field.name) || signature.FindOutput(field.name)) {
      return FailAt(field.name, i, "the field '{}', number {}, occurs twice", field.name, i + 1);
    }
    const bool no_values = field.type.values.empty() &&
                           (field.type.kind == FieldType::Kind::kLiteral || field.type.kind == FieldType::Kind::kEnum);
    if (no_values)
      return FailAt(field.name, i, "the field '{}', number {}, has a type without values", field.name, i + 1);
    if (auto schema = CheckTypes(field.type); !schema) {
      return FailAt(field.name, i, "the field '{}', number {}: {}", field.name, i + 1, schema.error().message);
    }
    if (const std::string clash = ClashingName(field.type, known); !clash.empty()) {
      return FailAt(field.name, i, "the field '{}', number {}: '{}' is the name of two types", field.name, i + 1,
                    clash);
    }
    (entries_[i].output ? signature.outputs_ : signature.inputs_).push_back(field);
  }
  signature.instructions_ =
      CleanDoc(instructions_ && !instructions_->empty()
                   ? *instructions_
                   : fmt::format("Given the fields {}, produce the fields {}.", QuotedNames(signature.inputs_),
                                 QuotedNames(signature.outputs_)));
  signature.Complete();
  return signature;
}

}  // namespace inferflux::dspy
