// Who may use the API. Keys are kept as SHA-256 hashes, compared in constant time, and never logged.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"

namespace inferflux::server {

// A caller, as the scheduler tells tenants apart.
struct Caller {
  std::string account;      // empty where no keys are asked for
  uint64_t cache_salt = 0;  // requests of different salts never share cached prompts
};

class ApiKeys {
 public:
  using Hash = std::array<uint8_t, 32>;

  ApiKeys() = default;  // asks for no key
  // One SHA-256 in 64 hexadecimal digits a line (`printf %s KEY | sha256sum`); what follows a space or '#' is a
  // comment. An empty file is an error: it would lock everyone out, or in.
  static Result<ApiKeys> Load(const std::string& path);

  // `authorization` is the header's value, "Bearer KEY".
  ApiResult<Caller> Check(std::string_view authorization) const;

  static Hash HashOf(std::string_view key);

 private:
  std::vector<Hash> hashes_;
};

}  // namespace inferflux::server
