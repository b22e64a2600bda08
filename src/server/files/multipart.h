// The parts of a body of the type multipart/form-data (RFC 7578).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/request/api_error.h"

namespace inferflux::server {

inline constexpr size_t kMostFormParts = 64;
inline constexpr size_t kMostPartHeaderBytes = 8192;

struct FormPart {
  std::string name;
  std::optional<std::string> filename;  // none: a field, not a file
  std::string_view content;             // of the body
};

// `content_type`: the request's header, which names the boundary. Errors are 400s that say what is wrong with the body.
ApiResult<std::vector<FormPart>> ParseMultipart(std::string_view content_type, std::string_view body);

}  // namespace inferflux::server
