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

TEST(Token, IsTheFirstLineOfItsFile) {
  const std::string path = ::testing::TempDir() + "/token_file";
  std::ofstream(path) << "0123456789abcdef\nmore\n";
  EXPECT_EQ(Token::ReadFile(path)->secret(), "0123456789abcdef");
  std::ofstream(path) << "0123456789abcde\n";
  const auto refused = Token::ReadFile(path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message, "the token in " + path + " has 15 characters; use at least 16");
  const auto none = Token::ReadFile(path + ".none");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message, "cannot read a token from " + path + ".none");
}

TEST(Token, IsSentAsItIsRead) {
  EXPECT_TRUE(Token().Headers().empty());
  const Token token("0123456789abcdef");
  const auto headers = token.Headers();
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers[0].name, "Authorization");
  EXPECT_EQ(headers[0].value, "Bearer 0123456789abcdef");
  EXPECT_EQ(Token::Random()->secret().size(), 64u);
  EXPECT_EQ(Token::Random()->secret().find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Token, RandomOnesDiffer) { EXPECT_NE(Token::Random()->secret(), Token::Random()->secret()); }

TEST(Token, KnowsThisMachinesAddresses) {
  for (const char* host : {"127.0.0.1", "127.8.8.8", "::1", "localhost"}) EXPECT_TRUE(IsLoopback(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "192.168.1.5", "example.com", ""}) EXPECT_FALSE(IsLoopback(host)) << host;
}

}  // namespace
}  // namespace inferflux::worker
