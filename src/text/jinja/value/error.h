// The engine's own exception. It never leaves the engine: ChatTemplate converts it to an Error.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/result.h"

namespace inferflux::text::jinja {

// Evaluation is a deep recursion in which nearly every step can fail, and no step can continue after a failure. An
// exception expresses this once; a Result would express it at several hundred call sites.
class TemplateError {
 public:
  TemplateError(ErrorCode code, std::string message, int line = 0)
      : code_(code), message_(std::move(message)), line_(line) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // 1-based line of the template; 0 if the thrower did not know it.
  int line() const { return line_; }

 private:
  ErrorCode code_;
  std::string message_;
  int line_;
};

// An error that Jinja2 has too: a type error, an undefined attribute, raise_exception().
template <class... Args>
[[noreturn]] void Raise(fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateError(ErrorCode::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
}

// A syntax error of the template at `line`.
template <class... Args>
[[noreturn]] void RaiseAt(int line, fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateError(ErrorCode::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...), line);
}

// A limit of the sandbox.
template <class... Args>
[[noreturn]] void RaiseLimit(fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateError(ErrorCode::kResourceExhausted, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace inferflux::text::jinja
