#include "server/request/api_error.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace inferflux::server {
namespace json = boost::json;
namespace {

json::value TextOrNull(const std::string& text) { return text.empty() ? json::value(nullptr) : json::value(text); }

ApiError Overloaded(std::string message, std::string code) {
  return {503, std::move(message), "service_unavailable_error", "", std::move(code)};
}

}  // namespace

tl::unexpected<ApiError> RefuseAs(std::string_view code, std::string_view param, std::string message) {
  return tl::make_unexpected(
      ApiError{400, std::move(message), "invalid_request_error", std::string(param), std::string(code)});
}

ApiError FromError(const Error& error, std::string_view param) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
      return {400, error.message, "invalid_request_error", std::string(param), "invalid_value"};
    case ErrorCode::kNotFound:
      return {404, error.message, "invalid_request_error", std::string(param), "not_found"};
    case ErrorCode::kResourceExhausted:
      return {429, error.message, "rate_limit_error", "", "overloaded"};
    case ErrorCode::kUnavailable:
    case ErrorCode::kCancelled:
      return Overloaded(error.message, "unavailable");
    case ErrorCode::kDataLoss:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return {500, error.message, "server_error", "", "internal_error"};
}

ApiError FromGeneration(serving::GenerationError error, std::string_view param) {
  using Kind = serving::GenerationError::Kind;
  const auto code = [&] {
    switch (error.kind) {
      case Kind::kInvalid:
      case Kind::kTemplate:
        return "invalid_value";
      case Kind::kUnsupported:
        return "unsupported_parameter";
      case Kind::kNoChatTemplate:
        return "no_chat_template";
      case Kind::kContextLength:
        return "context_length_exceeded";
    }
    return "";
  };
  if (!error.is_sentence()) error.message = fmt::format("'{}' {}", param, error.message);
  return {400, std::move(error.message), "invalid_request_error", std::string(param), code()};
}

ApiError FromStatus(int status, std::string_view message) {
  if (status == 503) return Overloaded(std::string(message), "unavailable");
  if (status >= 500) return {status, std::string(message), "server_error", "", "internal_error"};
  return {status, std::string(message), "invalid_request_error", "", status == 404 ? "unknown_url" : ""};
}

std::string ErrorJson(const ApiError& error) {
  json::object body;
  body["message"] = error.message;
  body["type"] = error.type;
  body["param"] = TextOrNull(error.param);
  body["code"] = TextOrNull(error.code);
  json::object out;
  out["error"] = std::move(body);
  return json::serialize(out);
}

net::Response ErrorResponse(const ApiError& error) {
  net::Response out(error.status, "application/json", ErrorJson(error));
  out.reason = error.message;
  if (error.status == 503 || error.status == 429)
    out.headers.push_back({"Retry-After", std::to_string(error.retry_after)});
  if (error.status == 401) out.headers.push_back({"WWW-Authenticate", "Bearer"});
  return out;
}

}  // namespace inferflux::server
