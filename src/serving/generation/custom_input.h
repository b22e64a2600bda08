// The input of a custom tool's call. The model sees such a tool as a function with one argument, a text, so its calls
// have arguments that hold the input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace inferflux::serving {

class CustomInput {
 public:
  // Takes more of the arguments, as ToolCallParser passes them on, and returns what they add to the input. Arguments of
  // another form are the input themselves.
  std::string Take(std::string_view arguments);
  // The call has ended: returns what was held back.
  std::string Finish();

 private:
  enum class At : uint8_t { kOpening, kText, kBehind, kRaw };

  std::string TakeText(std::string_view part);

  At at_ = At::kOpening;
  std::string begun_;  // at kOpening
};

// The same at once.
std::string CustomInputOf(std::string_view arguments);

}  // namespace inferflux::serving
