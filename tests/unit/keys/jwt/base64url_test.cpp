#include "keys/jwt/base64url.h"

#include <gtest/gtest.h>

namespace inferflux::keys {
namespace {

TEST(Base64UrlTest, BytesOfEveryLengthAreDecoded) {
  // RFC 4648, section 10, and RFC 7515, appendix C.
  EXPECT_EQ(DecodeBase64Url(""), "");
  EXPECT_EQ(DecodeBase64Url("Zg"), "f");
  EXPECT_EQ(DecodeBase64Url("Zm8"), "fo");
  EXPECT_EQ(DecodeBase64Url("Zm9v"), "foo");
  EXPECT_EQ(DecodeBase64Url("Zm9vYmFy"), "foobar");
  EXPECT_EQ(DecodeBase64Url("A-z_4ME"), "\x03\xec\xff\xe0\xc1");
}

TEST(Base64UrlTest, EverythingElseIsRefused) {
  for (const char* wrong : {"Zg==", "Z", "Zm9vY", "Zm9v\n", " Zm8", "Zm+v", "Zm/v", "Zm\xc3\xa4", "Zh", "Zm9"}) {
    EXPECT_FALSE(DecodeBase64Url(wrong).has_value()) << wrong;
  }
  EXPECT_FALSE(DecodeBase64Url(std::string_view("Zm\0v", 4)).has_value());
}

}  // namespace
}  // namespace inferflux::keys
