// An error in a request, for any API, and the envelope that OpenAI's API and our own paths use: {"error": {"message",
// "type", "param", "code"}}.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/result.h"
#include "net/http_message.h"
#include "serving/generation/generation_error.h"

namespace inferflux::server {

struct ApiError {
  int status = 400;
  std::string message;
  std::string type = "invalid_request_error";
  std::string param;    // the field; empty: null
  std::string code;     // empty: null
  int retry_after = 1;  // seconds; sent with 429 and 503
  // A model that has to be loaded first (first_use.h): the request may wait for that, at most so many seconds (0: any
  // time). Empty: none.
  std::string load_first = {};
  double load_timeout = 0;
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;
using ApiStatus = ApiResult<void>;

// 400: the field `param` is invalid. `return Refuse("top_p", "must be a number");`
template <class... Args>
tl::unexpected<ApiError> Refuse(std::string_view param, fmt::format_string<Args...> format, Args&&... args) {
  ApiError out;
  out.message = fmt::format(format, std::forward<Args>(args)...);
  if (!param.empty()) out.message = fmt::format("'{}' {}", param, out.message);
  out.param = param;
  out.code = "invalid_value";
  return tl::make_unexpected(std::move(out));
}

// The same with another code, for clients that distinguish errors by code.
tl::unexpected<ApiError> RefuseAs(std::string_view code, std::string_view param, std::string message);

// Converts an error of the floors below for a client. `param` is the field that an invalid argument concerns.
ApiError FromError(const Error& error, std::string_view param);

// The same for a request that cannot become a generation. `param` is the API's name of the error's field.
ApiError FromGeneration(serving::GenerationError error, std::string_view param);

// An error from only a status, for the network floor's own refusals.
ApiError FromStatus(int status, std::string_view message);

std::string ErrorJson(const ApiError& error);
net::Response ErrorResponse(const ApiError& error);

}  // namespace inferflux::server
