#include "server/request/access/api_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "keys/jwt/signed_tokens.h"
#include "keys/jwt/token_verifier.h"

namespace inferflux::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ApiKeysTest : public ::testing::Test {
 protected:
  ApiKeysTest() : path_(std::filesystem::temp_directory_path() / ("inferflux_keys_" + std::to_string(::getpid()))) {}
  ~ApiKeysTest() override { std::filesystem::remove(path_); }

  Result<ApiKeys> Load(const std::string& text) {
    std::ofstream(path_) << text;
    return ApiKeys::Load(path_.string());
  }
  static std::string Hex(std::string_view key) { return keys::ToHex(keys::HashOf(key)); }

  std::filesystem::path path_;
};

TEST_F(ApiKeysTest, HashesAreSha256) {
  EXPECT_EQ(Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2, appendix B
}

TEST_F(ApiKeysTest, AKnownKeyPassesAndTellsTenantsApart) {
  const auto keys = Load("# keys\n" + Hex("sk-one") + "  # alice\n\n" + Hex("sk-two") + "\n");
  ASSERT_TRUE(keys.has_value()) << keys.error().message;
  const auto one = keys->Check("Bearer sk-one", Scope::kGenerate);
  const auto two = keys->Check("bearer sk-two", Scope::kRead);
  ASSERT_TRUE(one.has_value());
  ASSERT_TRUE(two.has_value());
  EXPECT_NE(one->account, two->account);
  EXPECT_NE(one->cache_salt, two->cache_salt);
  EXPECT_EQ(one->key_name, "alice");
  EXPECT_EQ(two->key_name, Hex("sk-two").substr(0, 8));
}

TEST_F(ApiKeysTest, EverythingElseIs401AndNeverRepeatsTheKey) {
  const auto keys = Load(Hex("sk-one"));
  ASSERT_TRUE(keys.has_value());
  for (const char* bad : {"", "Bearer", "Bearer ", "Bearer sk-On", "Basic sk-one", "sk-one", "Bearer  sk-one"}) {
    const auto caller = keys->Check(bad, Scope::kRead);
    ASSERT_FALSE(caller.has_value()) << bad;
    EXPECT_EQ(caller.error().status, 401);
    EXPECT_EQ(caller.error().code, "invalid_api_key");
    EXPECT_THAT(caller.error().message, Not(HasSubstr("sk-")));
  }
}

TEST_F(ApiKeysTest, AClientsKeyMayReadGenerateAndLoadButNotAdminister) {
  ApiKeys keys;
  keys.AddClientKey("sk-plain");
  EXPECT_TRUE(keys.required());
  EXPECT_FALSE(keys.Check("", Scope::kRead).has_value());
  for (const Scope scope : {Scope::kRead, Scope::kGenerate, Scope::kLoad}) {
    EXPECT_TRUE(keys.Check("Bearer sk-plain", scope).has_value());
  }
  const auto admin = keys.Check("Bearer sk-plain", Scope::kAdmin);
  ASSERT_FALSE(admin.has_value());
  EXPECT_EQ(admin.error().status, 403);
}

TEST_F(ApiKeysTest, WithoutKeysEveryoneIsLetIn) { EXPECT_TRUE(ApiKeys().Check("", Scope::kAdmin).has_value()); }

TEST_F(ApiKeysTest, AKeyHasTheScopesThatItsLineNames) {
  const auto keys =
      Load(Hex("usual") + "  -\n" + Hex("reader") + " read # a dashboard\n" + Hex("owner") + " read,generate,admin\n");
  ASSERT_TRUE(keys.has_value()) << keys.error().message;
  EXPECT_TRUE(keys->Check("Bearer usual", Scope::kGenerate).has_value());
  EXPECT_TRUE(keys->Check("Bearer owner", Scope::kAdmin).has_value());
  EXPECT_TRUE(keys->Check("Bearer reader", Scope::kRead).has_value());
  for (const auto& [key, scope] : {std::pair("usual", Scope::kAdmin), std::pair("reader", Scope::kGenerate)}) {
    const auto refused = keys->Check(std::string("Bearer ") + key, scope);
    ASSERT_FALSE(refused.has_value()) << key;
    EXPECT_EQ(refused.error().status, 403);
    EXPECT_EQ(refused.error().code, "insufficient_scope");
  }
  const auto unknown = Load(Hex("a") + " write\n");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message, HasSubstr("'write'"));
}

TEST_F(ApiKeysTest, BrokenFilesAreErrorsThatNameTheLine) {
  const auto plain = Load(Hex("a") + "\nsk-plain-text-key\n");
  ASSERT_FALSE(plain.has_value());
  EXPECT_THAT(plain.error().message, HasSubstr(":2:"));
  EXPECT_THAT(plain.error().message, Not(HasSubstr("sk-plain")));
  EXPECT_FALSE(Load("").has_value());
  EXPECT_FALSE(Load(std::string(64, 'g')).has_value());
  EXPECT_FALSE(ApiKeys::Load("/nonexistent").has_value());
}

TEST_F(ApiKeysTest, WhoQueuedSomethingIsFoundAgainByItsAccount) {
  auto keys = Load(Hex("one") + " read,generate name=first running=3\n" + Hex("two") + " read # second\n" + Hex("old") +
                   " generate expires=2020-01-01\n");
  ASSERT_TRUE(keys.has_value()) << keys.error().message;
  keys->SetUsualLimits({.running = 8, .connections = 9});
  const auto checked = keys->CheckKey("one", Scope::kGenerate);
  ASSERT_TRUE(checked.has_value());
  const auto found = keys->CallerOf(checked->account, Scope::kGenerate);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->account, checked->account);
  EXPECT_EQ(found->account.size(), 16u);
  EXPECT_EQ(found->cache_salt, checked->cache_salt);
  EXPECT_EQ(found->key_name, "first");
  EXPECT_EQ(found->scopes, keys::kUsualScopes);
  EXPECT_EQ(found->limits.running, 3) << "its own";
  EXPECT_EQ(found->limits.connections, 9) << "the usual one";
  const auto two = keys->CheckKey("two", Scope::kRead);
  EXPECT_TRUE(keys->CallerOf(two->account, Scope::kRead).has_value());
  EXPECT_FALSE(keys->CallerOf(two->account, Scope::kGenerate).has_value()) << "it may not generate any more";
  const auto old = keys->CheckKey("old", Scope::kGenerate);
  EXPECT_EQ(old.error().message, "the API key expired on 2020-01-01T00:00:00Z");
  EXPECT_FALSE(keys->CallerOf("0000000000000000", Scope::kRead).has_value());
  EXPECT_FALSE(keys->CallerOf("", Scope::kRead).has_value());

  ApiKeys open;
  open.SetUsualLimits({.connections = 9});
  const auto anyone = open.CallerOf("", Scope::kGenerate);
  ASSERT_TRUE(anyone.has_value());
  EXPECT_EQ(anyone->limits.connections, 9);
  EXPECT_EQ(anyone->scopes, keys::kEveryScope);
  EXPECT_FALSE(open.CallerOf(checked->account, Scope::kGenerate).has_value()) << "keys were required when it called";
}

TEST_F(ApiKeysTest, ATokensAccountOutlivesTheToken) {
  auto set = keys::KeySet::Parse(fmt::format(R"({{"keys": [{}]}})", keys::kSignedTokens[0].key));
  ASSERT_TRUE(set.has_value());
  ApiKeys keys;
  keys.AcceptTokens(std::make_shared<const keys::TokenVerifier>(
      std::move(*set), keys::ClaimRules{.issuer = "https://id.example", .audiences = {"inferflux"}}));
  EXPECT_TRUE(keys.required());
  const keys::Hash hash = keys::HashOf("https://id.example");
  const std::string prefix = fmt::format("jwt-{:02x}{:02x}{:02x}{:02x}-", hash[3], hash[2], hash[1], hash[0]);
  const auto caller = keys.CallerOf(prefix + "00000000000000ff", Scope::kGenerate);
  ASSERT_TRUE(caller.has_value());
  EXPECT_EQ(caller->account, prefix + "00000000000000ff");
  EXPECT_EQ(caller->cache_salt, 255u);
  EXPECT_EQ(caller->key_name, prefix + "00000000000000ff");
  EXPECT_EQ(caller->scopes, keys::kUsualScopes);
  EXPECT_TRUE(keys.CallerOf(prefix + "1", Scope::kRead).has_value());
  EXPECT_FALSE(keys.CallerOf(prefix + "1", Scope::kAdmin).has_value());
  EXPECT_FALSE(keys.CallerOf(prefix + "1", Scope::kLoad).has_value());
  EXPECT_FALSE(keys.CallerOf("jwt-00000000-1", Scope::kRead).has_value()) << "another issuer";
  EXPECT_FALSE(keys.CallerOf(prefix, Scope::kRead).has_value());
  EXPECT_FALSE(keys.CallerOf(prefix + "1x", Scope::kRead).has_value());
}

TEST_F(ApiKeysTest, ASaltIsDividedByAKeyOfTheCallers) {
  EXPECT_EQ(JoinedSalt(7, ""), 7u);
  EXPECT_NE(JoinedSalt(7, "a"), 7u);
  EXPECT_EQ(JoinedSalt(7, "a"), JoinedSalt(7, "a"));
  EXPECT_NE(JoinedSalt(7, "a"), JoinedSalt(7, "b"));
  EXPECT_NE(JoinedSalt(7, "a"), JoinedSalt(8, "a"));
}

}  // namespace
}  // namespace inferflux::server
