#include "worker/token.h"

#include <gtest/gtest.h>

#include <fstream>

namespace inferflux::worker {
namespace {

net::Request With(const std::string& authorization) {
  net::Request out;
  if (!authorization.empty()) out.headers.push_back({"Authorization", authorization});
  return out;
}

TEST(Token, AdmitsOnlyWhoHasIt) {
  const Token token("0123456789abcdef");
  EXPECT_TRUE(token.Admits(With("Bearer 0123456789abcdef")));
  for (const char* wrong : {"", "0123456789abcdef", "Bearer ", "Bearer 0123456789abcdeF", "Bearer 0123456789abcdef0",
                            "Bearer 0123456789abcde", "bearer 0123456789abcdef"}) {
    EXPECT_FALSE(token.Admits(With(wrong))) << wrong;
  }
  EXPECT_TRUE(Token().Admits(With("")));
}

TEST(Token, AShortSecretIsRefused) {
  const std::string path = ::testing::TempDir() + "/short_token";
  std::ofstream(path) << "short\n";
  EXPECT_FALSE(Token::ReadFile(path));
  std::ofstream(path) << "long-enough-to-be-a-secret\n";
  EXPECT_TRUE(Token::ReadFile(path));
}

TEST(Token, RandomOnesDiffer) { EXPECT_NE(Token::Random()->secret(), Token::Random()->secret()); }

TEST(Token, KnowsThisMachinesAddresses) {
  for (const char* host : {"127.0.0.1", "127.8.8.8", "::1", "localhost"}) EXPECT_TRUE(IsLoopback(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "192.168.1.5", "example.com", ""}) EXPECT_FALSE(IsLoopback(host)) << host;
}

}  // namespace
}  // namespace inferflux::worker
