#include "dspy/signature/example.h"

#include <algorithm>

namespace inferflux::dspy {

Example Example::WithInputs(std::vector<std::string> names) const {
  Example copy(values_);
  copy.input_names_ = std::move(names);
  return copy;
}

bool Example::IsInput(std::string_view name) const {
  return std::ranges::find(input_names_, name) != input_names_.end();
}

Values Example::inputs() const {
  Values out;
  for (const auto& [name, value] : values_) {
    if (IsInput({name.data(), name.size()})) out[name] = value;
  }
  return out;
}

Values Example::labels() const {
  Values out;
  for (const auto& [name, value] : values_) {
    if (!IsInput({name.data(), name.size()})) out[name] = value;
  }
  return out;
}

}  // namespace inferflux::dspy
