#include "worker/token.h"

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <fstream>

namespace inferflux::worker {
namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr size_t kLeastBytes = 16;

// Looks at every byte of the given text, whatever they are.
bool SameInConstantTime(std::string_view given, std::string_view secret) {
  uint8_t difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<uint8_t>(given[i] ^ secret[i % secret.size()]);
  }
  return difference == 0;
}

}  // namespace

Result<Token> Token::ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return Fail(ErrorCode::kNotFound, "cannot read a token from {}", path);
  if (line.size() < kLeastBytes) {
    return Fail(ErrorCode::kInvalidArgument, "the token in {} has {} characters; use at least {}", path, line.size(),
                kLeastBytes);
  }
  return Token(line);
}

Result<Token> Token::Random() {
  std::array<unsigned char, 32> bytes{};
  std::ifstream random("/dev/urandom", std::ios::binary);
  if (!random.read(reinterpret_cast<char*>(bytes.data()), bytes.size())) {
    return Fail(ErrorCode::kIo, "cannot read /dev/urandom");
  }
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return Token(std::move(out));
}

bool Token::Admits(const net::Request& request) const {
  if (!required()) return true;
  std::string_view given = net::FindHeader(request.headers, "Authorization");
  if (!given.starts_with(kScheme)) return false;
  given.remove_prefix(kScheme.size());
  return SameInConstantTime(given, secret_);
}

std::vector<net::Header> Token::Headers() const {
  if (!required()) return {};
  return {{"Authorization", std::string(kScheme) + secret_}};
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(host, no_address);
  return !no_address && address.is_loopback();
}

}  // namespace inferflux::worker
