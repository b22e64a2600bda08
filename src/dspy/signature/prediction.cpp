#include "dspy/signature/prediction.h"

#include "dspy/python/python_format.h"

namespace inferflux::dspy {
namespace {

tl::unexpected<Error> IsNo(std::string_view name, std::string_view type, const boost::json::value& value) {
  return FailAt(name, Error::kNoPosition, "the field '{}' is no {}: {}", name, type, PythonRepr(value));
}

}  // namespace

Result<const boost::json::value*> Prediction::Find(std::string_view name) const {
  if (const auto* value = values_.if_contains(name)) return value;
  std::string names;
  for (const auto& [key, value] : values_) names += (names.empty() ? "" : ", ") + std::string(key);
  return FailAt(name, Error::kNoPosition, "the prediction has no field '{}'; it has: {}", name, names);
}

Result<std::string> Prediction::Text(std::string_view name) const {
  auto value = Find(name);
  if (!value) return Forward(value);
  const auto* text = (*value)->if_string();
  if (!text) return IsNo(name, "text", **value);
  return std::string(text->data(), text->size());
}

Result<int64_t> Prediction::Int(std::string_view name) const {
  auto value = Find(name);
  if (!value) return Forward(value);
  if (!(*value)->is_int64()) return IsNo(name, "int", **value);
  return (*value)->get_int64();
}

Result<double> Prediction::Float(std::string_view name) const {
  auto value = Find(name);
  if (!value) return Forward(value);
  if ((*value)->is_int64()) return static_cast<double>((*value)->get_int64());
  if (!(*value)->is_double()) return IsNo(name, "float", **value);
  return (*value)->get_double();
}

Result<bool> Prediction::Bool(std::string_view name) const {
  auto value = Find(name);
  if (!value) return Forward(value);
  if (!(*value)->is_bool()) return IsNo(name, "bool", **value);
  return (*value)->get_bool();
}

}  // namespace inferflux::dspy
