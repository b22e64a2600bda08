// Results instead of exceptions: a value, or an Error that names what went wrong, the limit, and the way out.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace inferflux {

enum class ErrorCode {
  kInvalidArgument,    // the caller's input is wrong, and would be wrong at any time
  kNotFound,           // a file, a model or a key that does not exist
  kDataLoss,           // a file that is truncated, corrupt or contradicts itself
  kUnsupported,        // valid, but nothing here can serve it
  kResourceExhausted,  // a limit of memory, queue or time is reached; may work later
  kUnavailable,        // not ready, or going away
  kCancelled,          // the caller gave up
  kIo,                 // the operating system refused
  kInternal,           // a bug of ours
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

// Hands a failed result's error on, whatever the type of the error: `if (!file) return Forward(file);`. This is the one
// idiom for it.
template <class T, class E>
tl::unexpected<E> Forward(tl::expected<T, E>& failed) {
  return tl::unexpected<E>(std::move(failed.error()));
}
template <class T, class E>
tl::unexpected<E> Forward(const tl::expected<T, E>& failed) {
  return tl::unexpected<E>(failed.error());
}

// The same, with what was being done in front: "loading model.gguf: ...".
template <class T>
tl::unexpected<Error> Forward(const Result<T>& failed, const std::string& context) {
  return tl::make_unexpected(Error{failed.error().code, context + ": " + failed.error().message});
}

}  // namespace inferflux
