// AWS Signature Version 4 for one request ("Authenticating Requests (AWS Signature Version 4)", Amazon S3 API
// reference).
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_message.h"

namespace inferflux::session_store {

struct S3Credentials {
  std::string key_id;
  std::string secret;
  std::string token;  // of temporary credentials; empty: none
};

struct S3Request {
  std::string_view method;
  std::string_view host;  // as in the Host header
  std::string_view path;  // from "/", of characters that need no escape; without a query
  std::string_view body;
};

// The headers to add: x-amz-date, x-amz-content-sha256, x-amz-security-token where there is a token, authorization.
std::vector<net::Header> SignS3(const S3Request& request, const S3Credentials& credentials, std::string_view region,
                                std::chrono::sys_seconds now);

}  // namespace inferflux::session_store
