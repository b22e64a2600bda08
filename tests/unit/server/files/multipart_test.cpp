#include "server/files/multipart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace inferflux::server {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kType = "multipart/form-data; boundary=xyz";

std::string MessageOf(std::string_view type, std::string_view body) {
  const auto parts = ParseMultipart(type, body);
  return parts ? "" : parts.error().message;
}

TEST(MultipartTest, PartsHaveNamesFilesAndBytes) {
  const std::string content("a\r\n--xy\0\r\n-", 11);  // nearly a boundary
  const std::string body =
      "preamble\r\n--xyz\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--xyz  \r\n"
      "content-type: text/plain\r\nCONTENT-DISPOSITION: form-data; filename=\"a \\\"b\\\"; c.jsonl\"; "
      "name=file\r\n\r\n" +
      content + "\r\n--xyz\r\nContent-Disposition: form-data; name=empty\r\n\r\n\r\n--xyz--\r\nepilogue";
  const auto parts = ParseMultipart("Multipart/Form-Data; charset=utf-8; BOUNDARY=\"xyz\"", body);
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), 3u);
  EXPECT_EQ((*parts)[0].name, "purpose");
  EXPECT_EQ((*parts)[0].content, "batch");
  EXPECT_FALSE((*parts)[0].filename);
  EXPECT_EQ((*parts)[1].name, "file");
  EXPECT_EQ((*parts)[1].filename, "a \"b\"; c.jsonl");
  EXPECT_EQ((*parts)[1].content, content);
  EXPECT_EQ((*parts)[2].content, "");
}

TEST(MultipartTest, BoundsAreExact) {
  const std::string part = "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
  std::string many;
  for (size_t i = 0; i < kMostFormParts; ++i) many += part;
  const auto parts = ParseMultipart(kType, many + "--xyz--");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ(parts->size(), 64u);
  const std::string longest(70, 'b');
  EXPECT_TRUE(ParseMultipart("multipart/form-data; boundary=" + longest, "--" + longest + "--"));
  EXPECT_THAT(MessageOf("multipart/form-data; boundary=\"\"", "----"), HasSubstr("no boundary"));
  // The headers, with the line end before them and both behind them, have 8192 bytes.
  const std::string name = "Content-Disposition: form-data; name=a\r\nA: ";
  const auto headers = [&](size_t bytes) {
    return "--xyz\r\n" + name + std::string(bytes - name.size() - 6, 'a') + "\r\n\r\n\r\n--xyz--";
  };
  EXPECT_EQ(MessageOf(kType, headers(8192)), "");
  EXPECT_THAT(MessageOf(kType, headers(8193)), HasSubstr("8192"));
  EXPECT_EQ(MessageOf(kType, "--xyz--"), "");
  EXPECT_EQ(MessageOf(kType, "x\r\n--xyz--"), "");
}

TEST(MultipartTest, ParametersOfAHeaderMayBeQuotedOrNot) {
  const auto names = [](const std::string& disposition) {
    const std::string body =
        "--xyz\r\nX: y\r\nContent-Disposition: " + disposition + "\r\nno colon\r\n\r\nc\r\n--xyz--";
    const auto parts = ParseMultipart(kType, body);
    if (!parts) return parts.error().message;
    return parts->at(0).name + "|" + parts->at(0).filename.value_or("-") + "|" + std::string(parts->at(0).content);
  };
  EXPECT_EQ(names("form-data; name=a"), "a|-|c");
  EXPECT_EQ(names("form-data ;  NAME = a ; FileName=\"b c\""), "a|b c|c");
  EXPECT_EQ(names("form-data; filename=b; name=\"a\\\\\""), "a\\|b|c");
  EXPECT_EQ(names("form-data; name=\"a\"; filename=\"\""), "a||c");
  EXPECT_THAT(names("form-data; name=\"a"), HasSubstr("no name"));
  EXPECT_THAT(names("form-data; name"), HasSubstr("no name"));
  EXPECT_THAT(names("form-data; name=\xff"), HasSubstr("not UTF-8"));
}

TEST(MultipartTest, WhatIsWrongIsSaid) {
  EXPECT_THAT(MessageOf("application/json", "{}"), HasSubstr("'application/json'"));
  EXPECT_THAT(MessageOf("multipart/form-data", "--x--"), HasSubstr("no boundary"));
  EXPECT_THAT(MessageOf("multipart/form-data; boundary=" + std::string(71, 'x'), ""), HasSubstr("no boundary"));
  EXPECT_THAT(MessageOf(kType, "--abc\r\n"), HasSubstr("does not hold the boundary"));
  EXPECT_THAT(MessageOf(kType, "--xyz"), HasSubstr("line end"));
  EXPECT_THAT(MessageOf(kType, "--xyz\r\nContent-Disposition: form-data; name=a\r\n"), HasSubstr("headers"));
  EXPECT_THAT(MessageOf(kType, "--xyz\r\n\r\na\r\n--xyz--"), HasSubstr("no name"));
  EXPECT_THAT(MessageOf(kType, "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\nabc"), HasSubstr("last part"));
  std::string many;
  for (size_t i = 0; i <= kMostFormParts; ++i) many += "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
  EXPECT_THAT(MessageOf(kType, many + "--xyz--"), HasSubstr("more than 64 parts"));
  EXPECT_THAT(MessageOf(kType, "--xyz\r\nA: " + std::string(9000, 'a') + "\r\n\r\n\r\n--xyz--"), HasSubstr("8192"));
}

}  // namespace
}  // namespace inferflux::server
