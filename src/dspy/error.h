// The errors of programs are those of the embedded library (include/inferflux/error.h): one enum for everything that
// can go wrong between a program and its language model.
#pragma once

#include <fmt/format.h>
#include <inferflux/error.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace inferflux::dspy {

using embedded::Error;
using embedded::ErrorCode;
using embedded::IsTransient;
using embedded::NameOf;

template <class T>
using Result = embedded::Result<T>;
using embedded::Status;

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

}  // namespace inferflux::dspy
