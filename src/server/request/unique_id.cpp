#include "server/request/unique_id.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>
#include <cstdint>

namespace inferflux::server {

std::string UniqueId(std::string_view prefix) {
  std::array<uint8_t, 12> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  return fmt::format("{}{:02x}", prefix, fmt::join(bytes, ""));
}

}  // namespace inferflux::server
