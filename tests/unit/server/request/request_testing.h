// Helpers for tests of request bodies.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "server/request/json_body.h"

namespace inferflux::server {

// The result of parsing `body`: the error's param and message, or "ok".
template <class Parse>
std::string Verdict(Parse parse, std::string_view body) {
  const auto object = ParseJsonBody(body);
  if (!object) return "json: " + object.error().message;
  const auto request = parse(*object);
  if (request) return "ok";
  EXPECT_EQ(request.error().status, 400) << body;
  EXPECT_EQ(request.error().type, "invalid_request_error") << body;
  return request.error().param + ": " + request.error().message;
}

}  // namespace inferflux::server
