#include "server/anthropic/anthropic_error.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "server/request/unique_id.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr int kOverloaded = 529;

std::string_view TypeOf(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case kOverloaded:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

std::string AnthropicErrorJson(const ApiError& error, std::string_view request_id) {
  json::object body;
  body["type"] = TypeOf(error.status);
  body["message"] = error.message;
  json::object out;
  out["type"] = "error";
  out["error"] = std::move(body);
  out["request_id"] = request_id;
  return json::serialize(out);
}

net::Response AnthropicErrorResponse(const ApiError& error) {
  const std::string id = UniqueId("req_");
  net::Response out = ErrorResponse(error);  // keeps the headers; the body is this API's
  out.status = error.status == 503 ? kOverloaded : error.status;
  out.body = AnthropicErrorJson(error, id);
  out.headers.push_back({"request-id", id});
  return out;
}

}  // namespace inferflux::server
