// Results instead of exceptions: a value, or an Error that names the problem, the limit, and the way out.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace inferflux {

enum class ErrorCode {
  kInvalidArgument,    // the input is wrong and will stay wrong
  kNotFound,           // a file, a model or a key that does not exist
  kDataLoss,           // a file that is truncated, corrupt or contradicts itself
  kUnsupported,        // valid, but not supported here
  kResourceExhausted,  // a limit of memory, queue or time is reached; a retry may succeed
  kUnavailable,        // not ready, or shutting down
  kCancelled,          // the caller cancelled
  kIo,                 // an error of the operating system
  kInternal,           // a bug in InferFlux
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// `return Fail(ErrorCode::kNotFound, "no file {}", path);`
template <class... Args>
tl::unexpected<Error> Fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::make_unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// Passes on the error of a failed result, for any result type: `if (!file) return Forward(file);`. Use no other idiom
// for this.
template <class T, class E>
tl::unexpected<E> Forward(tl::expected<T, E>& failed) {
  return tl::unexpected<E>(std::move(failed.error()));
}
template <class T, class E>
tl::unexpected<E> Forward(const tl::expected<T, E>& failed) {
  return tl::unexpected<E>(failed.error());
}

// The same, with a prefix that says what was attempted: "loading model.gguf: ...".
template <class T>
tl::unexpected<Error> Forward(const Result<T>& failed, const std::string& context) {
  return tl::make_unexpected(Error{failed.error().code, context + ": " + failed.error().message});
}

}  // namespace inferflux
