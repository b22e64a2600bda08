#include "dspy/signature/signature.h"

#include <algorithm>
#include <boost/json/array.hpp>

#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

const Field* FindIn(const std::vector<Field>& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

void Remove(std::vector<Field>& fields, std::string_view name) {
  std::erase_if(fields, [&](const Field& field) { return field.name == name; });
}

std::string Names(const std::vector<Field>& fields) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) out += (i > 0 ? ", " : "") + fields[i].name;
  return out;
}

}  // namespace

const Field* Signature::FindInput(std::string_view name) const { return FindIn(inputs_, name); }
const Field* Signature::FindOutput(std::string_view name) const { return FindIn(outputs_, name); }

void Signature::Complete() {
  for (auto* fields : {&inputs_, &outputs_}) {
    for (Field& field : *fields) {
      if (field.desc.empty()) field.desc = "${" + field.name + "}";
      if (field.prefix.empty()) field.prefix = InferPrefix(field.name) + ":";
    }
  }
}

Signature Signature::WithInstructions(std::string_view instructions) const {
  Signature copy = *this;
  copy.instructions_ = CleanDoc(instructions);
  return copy;
}

Signature Signature::WithInput(Field field) const {
  Signature copy = Without(field.name);
  copy.inputs_.push_back(std::move(field));
  copy.Complete();
  return copy;
}

Signature Signature::WithOutput(Field field) const {
  Signature copy = Without(field.name);
  copy.outputs_.push_back(std::move(field));
  copy.Complete();
  return copy;
}

Signature Signature::WithOutputInFront(Field field) const {
  Signature copy = Without(field.name);
  copy.outputs_.insert(copy.outputs_.begin(), std::move(field));
  copy.Complete();
  return copy;
}

Signature Signature::Without(std::string_view name) const {
  Signature copy = *this;
  Remove(copy.inputs_, name);
  Remove(copy.outputs_, name);
  return copy;
}

Signature Signature::WithoutOutputs() const {
  Signature copy = *this;
  copy.outputs_.clear();
  return copy;
}

std::string Signature::ToString() const { return Names(inputs_) + " -> " + Names(outputs_); }

boost::json::object Signature::DumpState() const {
  boost::json::array fields;
  for (const auto* side : {&inputs_, &outputs_}) {
    for (const Field& field : *side) fields.push_back({{"prefix", field.prefix}, {"description", field.desc}});
  }
  return {{"instructions", instructions_}, {"fields", std::move(fields)}};
}

Result<Signature> Signature::LoadState(const boost::json::object& state) const {
  const auto* instructions = state.if_contains("instructions");
  const auto* fields = state.if_contains("fields");
  if (!instructions || !instructions->is_string() || !fields || !fields->is_array()) {
    return Fail(ErrorCode::kInvalidConfig, "the state of '{}' needs \"instructions\", a text, and \"fields\", a list",
                ToString());
  }
  const boost::json::array& saved = fields->get_array();
  if (saved.size() != inputs_.size() + outputs_.size()) {
    return Fail(ErrorCode::kInvalidConfig, "the state has {} fields, and '{}' has {}", saved.size(), ToString(),
                inputs_.size() + outputs_.size());
  }
  Signature copy = WithInstructions(std::string_view(instructions->get_string()));
  size_t at = 0;
  for (auto* side : {&copy.inputs_, &copy.outputs_}) {
    for (Field& field : *side) {
      const boost::json::object* entry = saved[at].if_object();
      const auto* prefix = entry ? entry->if_contains("prefix") : nullptr;
      const auto* desc = entry ? entry->if_contains("description") : nullptr;
      if (!prefix || !prefix->is_string() || !desc || !desc->is_string()) {
        return FailAt(field.name, at, "the state of the field '{}' needs \"prefix\" and \"description\", both texts",
                      field.name);
      }
      field.prefix = std::string_view(prefix->get_string());
      field.desc = std::string_view(desc->get_string());
      ++at;
    }
  }
  return copy;
}

bool Signature::Equals(const Signature& other) const {
  const auto same = [](const Field& a, const Field& b) {
    return a.name == b.name && a.desc == b.desc && a.prefix == b.prefix;
  };
  return instructions_ == other.instructions_ && std::ranges::equal(inputs_, other.inputs_, same) &&
         std::ranges::equal(outputs_, other.outputs_, same);
}

}  // namespace inferflux::dspy
