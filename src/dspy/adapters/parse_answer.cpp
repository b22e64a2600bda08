#include "dspy/adapters/parse_answer.h"

#include "dspy/python/literal_reader.h"
#include "dspy/python/python_text.h"
#include "dspy/signature/convert.h"

namespace inferflux::dspy {
namespace {

constexpr size_t kShownAnswer = 200;

bool HasAll(const Signature& signature, const Values& fields) {
  for (const Field& field : signature.outputs()) {
    if (!fields.contains(field.name) && !field.type.AllowsNone()) return false;
  }
  return true;
}

bool HasAny(const Signature& signature, const Values& fields) {
  for (const Field& field : signature.outputs()) {
    if (fields.contains(field.name)) return true;
  }
  return false;
}

std::string Beginning(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && end < kShownAnswer) end += CharAt(text, end).size;
  return std::string(text.substr(0, end)) + (end < text.size() ? "..." : "");
}

}  // namespace

Result<Values> FromFields(const Signature& signature, const Values& fields) {
  Values out;
  if (!HasAny(signature, fields) || !HasAll(signature, fields)) return out;
  for (const Field& field : signature.outputs()) {
    const auto* value = fields.if_contains(field.name);
    if (!value) {
      out[field.name] = nullptr;
      continue;
    }
    auto converted = ConvertValue(field, *value);
    if (!converted) return Forward(converted);
    out[field.name] = std::move(*converted);
  }
  return out;
}

Result<Values> FromJson(const Signature& signature, std::string_view text) {
  const auto object = FindJsonObject(text);
  return object ? FromFields(signature, *object) : Values();
}

Result<Values> FromWholeText(const Signature& signature, std::string_view text, const Values& found) {
  if (signature.outputs().size() == 1) {
    const Field& field = signature.outputs()[0];
    if (Strip(text).empty()) {
      return tl::make_unexpected(Error{
          .code = ErrorCode::kParseFailed,
          .message = fmt::format("the answer is empty, and the field '{}' must be {}", field.name, NameOf(field.type)),
          .field = field.name});
    }
    auto converted = ConvertText(field, Strip(text));
    if (!converted) return Forward(converted);
    Values out;
    out[field.name] = std::move(*converted);
    return out;
  }
  std::string missing;
  std::string first;
  for (const Field& field : signature.outputs()) {
    if (found.contains(field.name) || field.type.AllowsNone()) continue;
    if (first.empty()) first = field.name;
    missing += fmt::format("{}'{}' ({})", missing.empty() ? "" : ", ", field.name, NameOf(field.type));
  }
  if (first.empty()) first = signature.outputs().empty() ? "" : signature.outputs()[0].name;
  return tl::make_unexpected(Error{.code = ErrorCode::kParseFailed,
                                   .message = fmt::format("the answer lacks {}; it is \"{}\"",
                                                          missing.empty() ? "all fields" : missing, Beginning(text)),
                                   .field = first});
}

}  // namespace inferflux::dspy
