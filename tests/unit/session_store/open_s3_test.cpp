// The object store that the variables name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "session_store/fake_bucket.h"
#include "session_store/open_store.h"

namespace inferflux::session_store {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

struct OpenS3Test : ::testing::Test {
  const std::string key = std::filesystem::path(::testing::TempDir()) / ("open-s3-key-" + std::to_string(::getpid()));

  OpenS3Test() {
    std::ofstream(key) << std::string(64, 'a');
    Forget();
  }
  ~OpenS3Test() override {
    Forget();
    std::filesystem::remove(key);
  }
  static void Forget() {
    for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL",
                             "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"}) {
      ::unsetenv(name);
    }
  }
  static void Set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
  static void Credentials() {
    Set("AWS_ACCESS_KEY_ID", "AKID");
    Set("AWS_SECRET_ACCESS_KEY", "secret");
  }

  // The request that a store at `url` makes when something is put there.
  net::Request PutInto(FakeBucket& bucket, const std::string& url) const {
    const auto store = OpenStore(url, key);
    if (!store) ADD_FAILURE() << store.error().message;
    if (!store) return {};
    EXPECT_TRUE((*store)->Put("name", "body", {}));
    EXPECT_EQ((*store)->Get("name", 10).value_or(""), "body");
    return bucket.requests().front();
  }
  static std::string AuthorizationOf(const net::Request& request) {
    return std::string(net::FindHeader(request.headers, "authorization"));
  }
  std::string Why(const std::string& url) const {
    const auto store = OpenStore(url, key);
    return store ? "" : store.error().message;
  }
};

TEST_F(OpenS3Test, TheStoreIsThatOfTheAddressAndTheVariables) {
  FakeBucket bucket;
  Credentials();
  Set("AWS_ENDPOINT_URL", "http://" + bucket.host() + "/base");
  Set("AWS_REGION", "eu-central-1");
  Set("AWS_DEFAULT_REGION", "eu-west-1");
  Set("AWS_SESSION_TOKEN", "TOKEN");
  const net::Request request = PutInto(bucket, "s3://my-bucket.1/a/b_c//");
  EXPECT_THAT(request.path, MatchesRegex("/base/my-bucket\\.1/a/b_c/[0-9a-f]{64}"));
  EXPECT_THAT(AuthorizationOf(request), HasSubstr("Credential=AKID/"));
  EXPECT_THAT(AuthorizationOf(request), HasSubstr("/eu-central-1/s3/aws4_request"));
  EXPECT_EQ(net::FindHeader(request.headers, "x-amz-security-token"), "TOKEN");
}

TEST_F(OpenS3Test, WhatIsNotSetHasItsDefault) {
  FakeBucket bucket;
  Credentials();
  Set("AWS_ENDPOINT_URL_S3", "http://" + bucket.host());
  Set("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
  Set("AWS_REGION", "");
  const net::Request request = PutInto(bucket, "s3://b");
  EXPECT_THAT(request.path, MatchesRegex("/b/[0-9a-f]{64}"));
  EXPECT_THAT(AuthorizationOf(request), HasSubstr("/us-east-1/s3/"));
  EXPECT_EQ(net::FindHeader(request.headers, "x-amz-security-token"), "");
}

TEST_F(OpenS3Test, TheUsualRegionMayHaveItsOtherName) {
  FakeBucket bucket;
  Credentials();
  Set("AWS_ENDPOINT_URL", "http://" + bucket.host());
  Set("AWS_DEFAULT_REGION", "eu-west-1");
  EXPECT_THAT(AuthorizationOf(PutInto(bucket, "s3://b/")), HasSubstr("/eu-west-1/s3/"));
}

TEST_F(OpenS3Test, NamesHaveLettersDigitsAndAFewOthers) {
  Credentials();
  Set("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
  EXPECT_EQ(Why("s3://azAZ09.-"), "");
  EXPECT_EQ(Why("s3://b/azAZ09._-/x"), "");
  for (const char c : std::string("`{@[:_ ~,")) {
    EXPECT_THAT(Why(std::string("s3://b") + c), HasSubstr("must be s3://BUCKET")) << c;
  }
  for (const char c : std::string("`{@[: ~,")) {
    EXPECT_THAT(Why(std::string("s3://b/a") + c), HasSubstr("must be s3://BUCKET")) << c;
  }
  EXPECT_EQ(Why("s3:///a"),
            "runtime.session_store: 's3:///a' must be s3://BUCKET or s3://BUCKET/PREFIX, of letters, digits, '.', '_' "
            "and '-'");
}

TEST_F(OpenS3Test, WhatIsMissingIsSaid) {
  const std::string both =
      "runtime.session_store: s3:// needs the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  EXPECT_EQ(Why("s3://b"), both);
  Set("AWS_SECRET_ACCESS_KEY", "secret");
  EXPECT_EQ(Why("s3://b"), both);
  Set("AWS_ACCESS_KEY_ID", "AKID");
  EXPECT_EQ(Why("s3://b"), "");
  Set("AWS_SECRET_ACCESS_KEY", "");
  EXPECT_EQ(Why("s3://b"), both);
  Set("AWS_ENDPOINT_URL", "ftp://host");
  EXPECT_EQ(Why("s3://b"), "AWS_ENDPOINT_URL: 'ftp://host': only http:// and https:// are supported");
}

}  // namespace
}  // namespace inferflux::session_store
