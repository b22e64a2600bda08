// What can go wrong between a program and a model that runs in it: one enum for all of it, and a message that names the
// thing, the limit and the way out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace inferflux::embedded {

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
constexpr std::string_view NameOf(ErrorCode code) {
  constexpr std::array<std::string_view, 10> kNames = {
      "ModelNotFound",   "ModelLoadFailed", "InvalidConfig", "TokenizationFailed", "ContextTooLong",
      "InferenceFailed", "Timeout",         "Cancelled",     "ParseFailed",        "BackendError"};
  return kNames[static_cast<size_t>(code)];
}

// Whether the same call may succeed later: a timeout, a failed inference or a backend that is short of resources.
constexpr bool IsTransient(ErrorCode code) {
  return code == ErrorCode::kTimeout || code == ErrorCode::kInferenceFailed || code == ErrorCode::kBackendError;
}

struct Error {
  static constexpr size_t kNoPosition = static_cast<size_t>(-1);

  ErrorCode code = ErrorCode::kInferenceFailed;
  std::string message;
  std::string field;              // the setting, or the field of a signature; empty where the error is about none
  size_t position = kNoPosition;  // byte offset in the text that was parsed
};

// A value, or an Error. Nothing here throws.
template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

}  // namespace inferflux::embedded
