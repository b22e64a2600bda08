#include "session_store/digest.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/sha.h>

#include <memory>

namespace inferflux::session_store {
namespace {

const unsigned char* Bytes(std::string_view data) { return reinterpret_cast<const unsigned char*>(data.data()); }

}  // namespace

Digest Sha256(std::string_view data) {
  Digest out;
  SHA256(Bytes(data), data.size(), out.data());
  return out;
}

Digest HmacSha256(std::string_view key, std::span<const std::string_view> parts) {
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr), EVP_MAC_free);
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(EVP_MAC_CTX_new(mac.get()), EVP_MAC_CTX_free);
  char hash[] = "SHA256";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, hash, 0),
                               OSSL_PARAM_construct_end()};
  EVP_MAC_init(context.get(), Bytes(key), key.size(), params);
  for (const std::string_view part : parts) EVP_MAC_update(context.get(), Bytes(part), part.size());
  Digest out{};
  size_t size = out.size();
  EVP_MAC_final(context.get(), out.data(), &size, out.size());
  return out;
}

std::string Hex(const Digest& digest) {
  std::string out;
  out.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    for (const int digit : {byte >> 4, byte & 15}) out += "0123456789abcdef"[digit];
  }
  return out;
}

}  // namespace inferflux::session_store
