// Against the standards' own vectors, and against botocore.
#include "session_store/s3_signature.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "session_store/digest.h"

namespace inferflux::session_store {
namespace {

using std::chrono::sys_seconds;

// RFC 4231, test case 2, and FIPS 180-2's "abc".
TEST(Digest, IsThatOfTheStandards) {
  EXPECT_EQ(Hex(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::array<std::string_view, 2> parts{"what do ya want ", "for nothing?"};
  EXPECT_EQ(Hex(HmacSha256("Jefe", parts)), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

// Both as S3SigV4Auth of botocore 1.44.8 signs these requests at that time.
TEST(S3Signature, IsThatOfBotocore) {
  const auto headers =
      SignS3({.method = "PUT", .host = "127.0.0.1:5000", .path = "/bucket/kv/0123", .body = "hello"},
             {.key_id = "AKIDEXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", .token = ""},
             "eu-central-1", sys_seconds(std::chrono::seconds(1440938160)));
  EXPECT_EQ(headers.size(), 3u) << "no token";
  EXPECT_EQ(net::FindHeader(headers, "x-amz-date"), "20150830T123600Z");
  EXPECT_EQ(net::FindHeader(headers, "x-amz-content-sha256"), Hex(Sha256("hello")));
  EXPECT_EQ(net::FindHeader(headers, "authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-central-1/s3/aws4_request, "
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
            "Signature=56ddaec161f5a59dcfa4fb510a67e514e17c9e2192e15c66c1109da57e8c34a3");
}

TEST(S3Signature, OfTemporaryCredentialsSignsTheToken) {
  const auto headers =
      SignS3({.method = "GET", .host = "127.0.0.1:5000", .path = "/bucket/kv/0123", .body = ""},
             {.key_id = "AKIDEXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", .token = "TOKEN=="},
             "us-east-1", sys_seconds(std::chrono::seconds(1440938160)));
  EXPECT_EQ(net::FindHeader(headers, "x-amz-security-token"), "TOKEN==");
  EXPECT_EQ(net::FindHeader(headers, "authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
            "Signature=ef5e45e81b5c251bbe708c1cdc687eedaec9d7d93e3e0d656c6cc472ce47ee4e");
}

}  // namespace
}  // namespace inferflux::session_store
