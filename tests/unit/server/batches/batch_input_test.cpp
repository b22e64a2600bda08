#include "server/batches/batch_input.h"

#include <gtest/gtest.h>

#include <string>

namespace inferflux::server {
namespace {

constexpr std::string_view kPath = "/v1/embeddings";

std::string InputLine(const std::string& id, const std::string& body = R"({"input":"a"})") {
  return R"({"custom_id":")" + id + R"(","method":"POST","url":"/v1/embeddings","body":)" + body + "}\n";
}

std::string FirstCode(const std::string& content) {
  const BatchInput input = ParseBatchInput(content, kPath);
  return input.errors.empty() ? "" : input.errors.front().code;
}

TEST(BatchInputTest, LinesKeepTheirNumbersAndBodies) {
  std::string last = InputLine("b", R"({"input":"\u00e9","n":1.5})");
  last.pop_back();  // the last line needs no end
  const BatchInput input = ParseBatchInput(InputLine("a") + "\r\n  \n" + last, kPath);
  ASSERT_TRUE(input.errors.empty()) << input.errors.front().message;
  ASSERT_EQ(input.lines.size(), 2u);
  EXPECT_EQ(input.lines[0].number, 1);
  EXPECT_EQ(input.lines[1].number, 4);
  EXPECT_EQ(input.lines[1].custom_id, "b");
  EXPECT_EQ(input.lines[1].request, "{\"input\":\"\u00e9\",\"n\":1.5E0}");
}

TEST(BatchInputTest, ErrorsHaveTheirCodes) {
  EXPECT_EQ(FirstCode(""), "empty_file");
  EXPECT_EQ(FirstCode("[]\n"), "invalid_json_line");
  EXPECT_EQ(FirstCode("\xff\n"), "invalid_json_line");
  EXPECT_EQ(FirstCode(InputLine("a") + InputLine("a")), "duplicate_custom_id");
  EXPECT_EQ(FirstCode(InputLine("")), "invalid_value");
  EXPECT_EQ(FirstCode(InputLine("a", "[]")), "invalid_type");
  EXPECT_EQ(FirstCode(InputLine("a", R"({"background":true})")), "invalid_value");
  EXPECT_EQ(FirstCode(R"({"custom_id":"a","method":"GET","url":"/v1/embeddings","body":{}})"), "invalid_method");
  EXPECT_EQ(FirstCode(R"({"custom_id":"a","method":"POST","url":"/v1/models","body":{}})"), "mismatched_endpoint");
  EXPECT_EQ(FirstCode(InputLine("a", R"({"input":")" + std::string(kMostBatchLineBytes, 'a') + "\"}")),
            "invalid_value");
}

TEST(BatchInputTest, EachErrorNamesItsLineAndItsField) {
  const auto first = [](const std::string& content) {
    const BatchInput input = ParseBatchInput(content, kPath);
    if (input.errors.empty()) return std::string("taken");
    const BatchInputError& error = input.errors.front();
    return std::to_string(error.line) + " " + error.param + " " + error.code;
  };
  EXPECT_EQ(first(InputLine("a") + "x\n"), "2  invalid_json_line");
  EXPECT_EQ(first(R"({"method":"POST","url":"/v1/embeddings","body":{}})"), "1 custom_id missing_required_parameter");
  EXPECT_EQ(first(R"({"custom_id":null,"method":"POST","url":"/v1/embeddings","body":{}})"),
            "1 custom_id missing_required_parameter");
  EXPECT_EQ(first(InputLine("a") + InputLine("a")), "2 custom_id duplicate_custom_id");
  EXPECT_EQ(first(InputLine("a", R"({"stream":true})")), "1 body.stream invalid_value");
  EXPECT_EQ(first(InputLine("a", R"({"stream":false,"background":false})")), "taken");
  EXPECT_EQ(first(InputLine("a", R"({"stream":1})")), "taken") << "the endpoint says what is wrong with it";
  EXPECT_EQ(ParseBatchInput("x\n", kPath).lines.size(), 0u);
  EXPECT_EQ(ParseBatchInput(InputLine("a") + "x\n" + InputLine("b"), kPath).errors.size(), 1u);
}

TEST(BatchInputTest, NumbersAreBounded) {
  std::string many;
  for (size_t i = 0; i <= kMostBatchLines; ++i) many += InputLine(std::to_string(i));
  EXPECT_EQ(FirstCode(many), "too_many_requests");
  std::string broken;
  for (int i = 0; i < 200; ++i) broken += "x\n";
  EXPECT_EQ(ParseBatchInput(broken, kPath).errors.size(), kMostInputErrors);
}

}  // namespace
}  // namespace inferflux::server
