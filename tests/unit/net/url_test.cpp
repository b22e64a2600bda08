#include "net/url.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace inferflux::net {
namespace {

// All that was read, or the refusal.
std::string Text(const Result<ServerAddress>& read) {
  if (!read) return read.error().message;
  return std::string(read->tls ? "https " : "http ") + read->host + " " + std::to_string(read->port) + " '" +
         read->base_path + "'";
}

TEST(ServerAddressTest, EveryPartOfAnAddressIsRead) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"http://example.org:8080/api/", "http example.org 8080 '/api'"},
      {"http://h/a/b//", "http h 80 '/a/b'"},
      {"h", "http h 80 ''"},
      {"h:", "http h 80 ''"},
      {"https://h:", "https h 443 ''"},
      {"https://h:8443/", "https h 8443 ''"},
      {"h:1", "http h 1 ''"},
      {"h:65535", "http h 65535 ''"},
      {"h:0", "'h:0': the port must be 1 to 65535"},
      {"h:65536", "'h:65536': the port must be 1 to 65535"},
      {"http://[::1]:80", "http ::1 80 ''"},
      {"http://", "'http://' is not a server's address; write http://HOST:PORT"},
      {"a b", "'a b' is not a server's address; write http://HOST:PORT"},
      {"ftp://x", "'ftp://x': only http:// and https:// are supported"},
  };
  for (const auto& [url, right] : cases) EXPECT_EQ(Text(ParseServerAddress(url)), right) << url;
}

TEST(ServerAddressTest, APlainAddressHasNoTls) {
  EXPECT_EQ(Text(ParsePlainAddress("h:9/x")), "http h 9 '/x'");
  EXPECT_EQ(Text(ParsePlainAddress("https://h")), "'https://h': only http:// is supported; put a TLS proxy in between");
  EXPECT_EQ(Text(ParsePlainAddress("ftp://h")), "'ftp://h': only http:// and https:// are supported");
}

TEST(ServerAddressTest, TakesHostPortAndPrefix) {
  const auto full = ParseServerAddress("http://example.org:8080/api/");
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(full->host, "example.org");
  EXPECT_EQ(full->port, 8080);
  EXPECT_EQ(full->base_path, "/api");

  const auto bare = ParseServerAddress("127.0.0.1:9");
  ASSERT_TRUE(bare.has_value());
  EXPECT_EQ(bare->host, "127.0.0.1");
  EXPECT_EQ(bare->port, 9);
  EXPECT_EQ(bare->base_path, "");

  const auto v6 = ParseServerAddress("http://[::1]:80");
  ASSERT_TRUE(v6.has_value());
  EXPECT_EQ(v6->host, "::1");
}

TEST(ServerAddressTest, OfHttpsHasItsOwnPort) {
  const auto plain = ParseServerAddress("http://example.org");
  ASSERT_TRUE(plain.has_value());
  EXPECT_FALSE(plain->tls);
  EXPECT_EQ(plain->port, 80);
  const auto secure = ParseServerAddress("https://example.org/v1");
  ASSERT_TRUE(secure.has_value());
  EXPECT_TRUE(secure->tls);
  EXPECT_EQ(secure->port, 443);
  EXPECT_EQ(ParseServerAddress("https://example.org:8443")->port, 8443);
}

TEST(ServerAddressTest, RefusesWhatItCannotReach) {
  for (const char* bad : {"", "http://", "ftp://x", "http://x:0", "http://x:99999", "a b"}) {
    EXPECT_FALSE(ParseServerAddress(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace inferflux::net
