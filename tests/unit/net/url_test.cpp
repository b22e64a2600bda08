#include "net/url.h"

#include <gtest/gtest.h>

namespace inferflux::net {
namespace {

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
