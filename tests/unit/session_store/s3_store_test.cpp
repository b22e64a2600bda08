#include "session_store/s3_store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "session_store/fake_bucket.h"
#include "support/silent_port.h"

namespace inferflux::session_store {
namespace {

struct S3StoreTest : ::testing::Test {
  FakeBucket bucket;
  const S3Credentials credentials{.key_id = "AKID", .secret = "secret", .token = "TOKEN"};
  S3Store store{{.endpoint = {.host = "127.0.0.1", .port = static_cast<uint16_t>(bucket.port()), .base_path = "/s3"},
                 .bucket = "bucket",
                 .prefix = "kv/",
                 .region = "eu-central-1",
                 .credentials = credentials}};

  std::string GetError(size_t most = 100) {
    const auto got = store.Get("ab12", most);
    return got ? "" : got.error().message;
  }
};

std::string MessageOf(const Status& status) { return status ? "" : status.error().message; }

// The time of "20150830T123600Z".
std::chrono::sys_seconds TimeOf(std::string_view date) {
  std::tm parts{};
  EXPECT_NE(::strptime(std::string(date).c_str(), "%Y%m%dT%H%M%SZ", &parts), nullptr) << date;
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&parts)));
}

TEST_F(S3StoreTest, ObjectsLieInTheBucketUnderThePrefix) {
  ASSERT_TRUE(store.Put("ab12", "body", {}));
  EXPECT_EQ(bucket.objects(), (std::map<std::string, std::string>{{"/s3/bucket/kv/ab12", "body"}}));
  EXPECT_EQ(store.Get("ab12", 100).value(), "body");
  ASSERT_TRUE(store.Put("ab12", "other", {}));
  EXPECT_EQ(store.Get("ab12", 100).value(), "other");
  ASSERT_TRUE(store.Remove("ab12"));
  EXPECT_TRUE(bucket.objects().empty());
  const auto gone = store.Get("ab12", 100);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(gone.error().message, "the store has no such session");
}

TEST_F(S3StoreTest, EachRequestIsSigned) {
  ASSERT_TRUE(store.Put("ab12", "body", {}));
  ASSERT_TRUE(store.Get("ab12", 100));
  ASSERT_TRUE(store.Remove("ab12"));
  const auto requests = bucket.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].method, "PUT");
  EXPECT_EQ(requests[1].method, "GET");
  EXPECT_EQ(requests[2].method, "DELETE");
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  for (const net::Request& request : requests) {
    EXPECT_EQ(net::FindHeader(request.headers, "host"), bucket.host());
    const auto time = TimeOf(net::FindHeader(request.headers, "x-amz-date"));
    EXPECT_LE(time, now);
    EXPECT_GT(time, now - std::chrono::minutes(5));
    const auto expected =
        SignS3({.method = request.method, .host = bucket.host(), .path = request.path, .body = request.body},
               credentials, "eu-central-1", time);
    for (const net::Header& header : expected) {
      EXPECT_EQ(net::FindHeader(request.headers, header.name), header.value) << header.name;
    }
    EXPECT_EQ(net::FindHeader(request.headers, "content-type"), request.body.empty() ? "" : "application/octet-stream");
  }
}

TEST_F(S3StoreTest, AnObjectHasItsLimit) {
  ASSERT_TRUE(store.Put("ab12", std::string(100, 'x'), {}));
  EXPECT_EQ(store.Get("ab12", 100).value(), std::string(100, 'x'));
  const auto larger = store.Get("ab12", 99);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(larger.error().message, "the object is larger than 99 bytes");
  const std::string large(300'000, 'y');  // arrives in pieces
  ASSERT_TRUE(store.Put("ab12", large, {}));
  EXPECT_EQ(store.Get("ab12", 300'000).value(), large);
  EXPECT_EQ(GetError(299'999), "the object is larger than 299999 bytes");
}

TEST_F(S3StoreTest, EveryAnswerButThatOfSuccessIsAnErrorWithItsCode) {
  const std::string denied = "<?xml?><Error><Code>AccessDenied</Code><Message>no</Message></Error>";
  bucket.AlwaysAnswer(403, denied);
  EXPECT_EQ(MessageOf(store.Put("ab12", "body", {})), "the object store answers 403 to PUT: AccessDenied");
  EXPECT_EQ(GetError(), "the object store answers 403 to GET: AccessDenied");
  EXPECT_EQ(MessageOf(store.Remove("ab12")), "the object store answers 403 to DELETE: AccessDenied");
  EXPECT_EQ(store.Get("ab12", 100).error().code, ErrorCode::kUnavailable);
  bucket.AlwaysAnswer(404, "<Error><Code>NoSuchBucket</Code></Error>");
  EXPECT_EQ(GetError(), "the object store answers 404 to GET: NoSuchBucket") << "which is no missing session";
  EXPECT_EQ(MessageOf(store.Put("ab12", "body", {})), "the object store answers 404 to PUT: NoSuchBucket");
  EXPECT_TRUE(store.Remove("ab12")) << "removing what is not there is no error";
  bucket.AlwaysAnswer(404, "not here");
  EXPECT_EQ(store.Get("ab12", 100).error().code, ErrorCode::kNotFound);
  bucket.AlwaysAnswer(500, "<Code>" + std::string(100, 'x'));
  EXPECT_EQ(GetError(), "the object store answers 500 to GET: " + std::string(80, 'x')) << "a code without an end";
  bucket.AlwaysAnswer(503, "busy");
  EXPECT_EQ(GetError(), "the object store answers 503 to GET: ");
}

TEST_F(S3StoreTest, TwoHundredsAreSuccess) {
  for (const int status : {200, 204, 299}) {
    bucket.AlwaysAnswer(status);
    EXPECT_TRUE(store.Put("ab12", "body", {})) << status;
    EXPECT_TRUE(store.Remove("ab12")) << status;
  }
  bucket.AlwaysAnswer(300);
  EXPECT_EQ(MessageOf(store.Put("ab12", "body", {})), "the object store answers 300 to PUT: ");
  EXPECT_EQ(MessageOf(store.Remove("ab12")), "the object store answers 300 to DELETE: ");
  bucket.AlwaysAnswer(206, "bo");
  EXPECT_EQ(GetError(), "the object store answers 206 to GET: ") << "a part is not the object";
}

TEST(S3StoreWithoutAServer, CannotBeReached) {
  S3Store store({.endpoint = {.host = "127.0.0.1", .port = 1, .base_path = ""},
                 .bucket = "bucket",
                 .prefix = "",
                 .region = "us-east-1",
                 .credentials = {}});
  EXPECT_NE(MessageOf(store.Put("ab12", "body", {})).find("127.0.0.1:1"), std::string::npos);
  EXPECT_EQ(store.Get("ab12", 100).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(store.Remove("ab12"));
}

// A worker can compute what a slow store would bring.
TEST(S3StoreWithoutAServer, IsNotWaitedForLongerThanFiveSeconds) {
  const inferflux::testing::SilentPort silent;
  S3Store store({.endpoint = {.host = "127.0.0.1", .port = silent.port(), .base_path = ""},
                 .bucket = "bucket",
                 .prefix = "",
                 .region = "us-east-1",
                 .credentials = {}});
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(store.Get("ab12", 100));
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, std::chrono::milliseconds(4900));
  EXPECT_LT(took, std::chrono::seconds(30));
}

}  // namespace
}  // namespace inferflux::session_store
