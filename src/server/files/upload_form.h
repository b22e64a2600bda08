// The parsed and checked form of POST /v1/files.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "server/request/api_error.h"

namespace inferflux::server {

struct UploadForm {
  std::string filename;
  std::string purpose;
  std::string_view content;  // of the body
  std::optional<std::chrono::seconds> lifetime;
};

ApiResult<UploadForm> ParseUpload(std::string_view content_type, std::string_view body);

// `seconds` of an `expires_after`: from an hour to 30 days.
ApiResult<std::chrono::seconds> CheckLifetime(std::string_view param, int64_t seconds);

}  // namespace inferflux::server
