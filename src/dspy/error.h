// What can go wrong between a program and its language model: one enum for all of it, and a message that names the
// field, the limit and the way out.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/result.h"

namespace inferflux::dspy {

enum class ErrorCode : uint8_t {
  kModelNotFound,       // no model of that name
  kModelLoadFailed,     // the model is there, and does not load
  kInvalidConfig,       // a signature, a setting or an input that is wrong at any time
  kTokenizationFailed,  // the prompt cannot become tokens
  kContextTooLong,      // prompt and answer exceed the model's context
  kInferenceFailed,     // the engine refused or failed
  kTimeout,             // the call's time is over
  kCancelled,           // the caller gave up
  kParseFailed,         // the answer is not what the signature describes
  kBackendError,        // no resource or connection at the moment; another attempt may succeed
};

// "ParseFailed".
std::string_view NameOf(ErrorCode code);

// Whether the same call may succeed later: a timeout, a failed inference or a backend that is short of resources.
bool IsTransient(ErrorCode code);

struct Error {
  static constexpr size_t kNoPosition = static_cast<size_t>(-1);

  ErrorCode code = ErrorCode::kInferenceFailed;
  std::string message;
  std::string field;              // the field of the signature; empty where the error is about none
  size_t position = kNoPosition;  // byte offset in the text that was parsed
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

template <class... Args>
tl::unexpected<Error> Fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::make_unexpected(Error{.code = code, .message = fmt::format(format, std::forward<Args>(args)...)});
}

template <class... Args>
tl::unexpected<Error> FailAt(std::string_view field, size_t position, fmt::format_string<Args...> format,
                             Args&&... args) {
  return tl::make_unexpected(Error{.code = ErrorCode::kInvalidConfig,
                                   .message = fmt::format(format, std::forward<Args>(args)...),
                                   .field = std::string(field),
                                   .position = position});
}

template <class T>
tl::unexpected<Error> Forward(Result<T>& failed) {
  return tl::make_unexpected(std::move(failed.error()));
}

// What an engine was doing when it failed: the same code of the base floor has another meaning in each.
enum class Stage : uint8_t { kFind, kLoad, kConfigure, kTokenize, kAdmit, kGenerate };

// The table from the engine's codes to this enum. kAdmit is the check of the prompt against the context.
Error FromEngine(Stage stage, const inferflux::Error& error);

}  // namespace inferflux::dspy
