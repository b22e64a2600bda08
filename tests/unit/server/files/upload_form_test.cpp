#include "server/files/upload_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace inferflux::server {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kForm = "multipart/form-data; boundary=xyz";

std::string Field(const std::string& name, const std::string& content) {
  return "--xyz\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + content + "\r\n";
}

// A file for batches with these further fields.
ApiResult<UploadForm> Upload(const std::string& fields) {
  static std::string body;  // the form's content points into it
  body = Field("purpose", "batch") +
         "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\r\n{}\r\n" + fields +
         "--xyz--";
  return ParseUpload(kForm, body);
}

TEST(UploadFormTest, HasItsFileAndItsPurpose) {
  const auto form = Upload("");
  ASSERT_TRUE(form) << form.error().message;
  EXPECT_EQ(form->filename, "a.jsonl");
  EXPECT_EQ(form->purpose, "batch");
  EXPECT_EQ(form->content, "{}");
  EXPECT_FALSE(form->lifetime);
}

TEST(UploadFormTest, WhatIsMissingOrWrongIsNamed) {
  const auto parse = [](const std::string& fields) {
    static std::string body;
    body = fields + "--xyz--";
    const auto form = ParseUpload(kForm, body);
    return form ? form->filename + "|" + std::string(form->content)
                : form.error().param + "/" + form.error().code + ": " + form.error().message;
  };
  const auto file = [](const std::string& name, const std::string& content = "{}") {
    return "--xyz\r\nContent-Disposition: form-data; name=\"file\"" + name + "\r\n\r\n" + content + "\r\n";
  };
  const std::string purpose = Field("purpose", "batch"), longest(255, 'n');
  EXPECT_EQ(parse(purpose + file("")), "file|{}");
  EXPECT_EQ(parse(file("; filename=" + longest) + purpose), longest + "|{}");
  EXPECT_EQ(parse(purpose + file("; filename=" + longest + "n")),
            "file/invalid_value: 'file' must have a name of 1 to 255 bytes of UTF-8");
  EXPECT_EQ(parse(purpose + file("; filename=\"\"")),
            "file/invalid_value: 'file' must have a name of 1 to 255 bytes of UTF-8");
  EXPECT_EQ(parse(purpose + file("; filename=\xff")),
            "file/invalid_value: 'file' must have a name of 1 to 255 bytes of UTF-8");
  EXPECT_EQ(parse(purpose + file("") + file("")), "file/invalid_value: 'file' must come once");
  EXPECT_EQ(parse(purpose), "file/missing_required_parameter: 'file' is missing");
  EXPECT_EQ(parse(purpose + file("", "")), "file/invalid_value: 'file' must not be empty");
  EXPECT_EQ(parse(file("")), "purpose/missing_required_parameter: 'purpose' is missing");
  EXPECT_EQ(parse(file("") + Field("purpose", "vision")),
            "purpose/invalid_value: 'purpose' must be \"batch\": this server has no other use for a file");
  EXPECT_THAT(parse(file("") + purpose + Field("other", "x")), HasSubstr("other/unknown_parameter: "));
}

TEST(UploadFormTest, AFileLivesFromAnHourTo30Days) {
  EXPECT_EQ(CheckLifetime("p", 3600), seconds(3600));
  EXPECT_EQ(CheckLifetime("p", 2'592'000), seconds(2'592'000));
  for (const int64_t wrong : {int64_t{3599}, int64_t{2'592'001}, int64_t{0}, int64_t{-1}}) {
    const auto refused = CheckLifetime("p", wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().param, "p");
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("3600"), HasSubstr("2592000")));
  }
}

TEST(UploadFormTest, AnExpiryIsSecondsBehindTheCreation) {
  const std::string anchor = Field("expires_after[anchor]", "created_at");
  const auto form = Upload(anchor + Field("expires_after[seconds]", "7200"));
  ASSERT_TRUE(form) << form.error().message;
  EXPECT_EQ(form->lifetime, seconds(7200));
  for (const char* wrong : {"", "7200s", "x", "7200.0", "99999999999999999999"}) {
    const auto refused = Upload(anchor + Field("expires_after[seconds]", wrong));
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().param, "expires_after[seconds]") << wrong;
  }
  const auto elsewhere = Upload(Field("expires_after[anchor]", "now") + Field("expires_after[seconds]", "7200"));
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().param, "expires_after[anchor]");
  EXPECT_FALSE(Upload(Field("expires_after[seconds]", "7200"))) << "seconds after what?";
}

}  // namespace
}  // namespace inferflux::server
