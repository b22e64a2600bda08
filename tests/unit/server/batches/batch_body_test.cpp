// The JSON of batches and of the lines of their results, and the bounds of the lines that they read.
#include "server/batches/batch_body.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <string>

#include "server/batches/batch_input.h"

namespace inferflux::server {
namespace {

namespace json = boost::json;

TEST(BatchBodyTest, AStatusHasItsTime) {
  json::object body{{"status", "validating"}};
  const int64_t before = std::time(nullptr);
  SetBatchStatus(body, "in_progress");
  EXPECT_EQ(BatchStatus(body), "in_progress");
  EXPECT_GE(body.at("in_progress_at").as_int64(), before);
  EXPECT_LE(body.at("in_progress_at").as_int64(), std::time(nullptr));
  SetBatchStatus(body, "completed");
  EXPECT_EQ(BatchStatus(body), "completed");
  EXPECT_TRUE(body.contains("in_progress_at"));
  EXPECT_TRUE(body.contains("completed_at"));
}

TEST(BatchBodyTest, ErrorsAndCountsHaveOpenAisShape) {
  json::object body;
  SetBatchErrors(body, {{"a", "first", 0, ""}, {"b", "second", 7, "url"}});
  EXPECT_EQ(json::serialize(body),
            R"({"errors":{"object":"list","data":[{"code":"a","message":"first","param":null,"line":null},)"
            R"({"code":"b","message":"second","param":"url","line":7}]}})");
  body.clear();
  SetBatchCounts(body, {.total = 5, .completed = 3, .failed = 1});
  EXPECT_EQ(json::serialize(body), R"({"request_counts":{"total":5,"completed":3,"failed":1}})");
}

TEST(BatchBodyTest, ALineOfResultsKeepsTheReplyAsItIs) {
  std::string line = BatchResultLine("a\"b", 404, "req_1", R"({"x": 1.50})");
  EXPECT_EQ(line.substr(0, 17), R"({"id":"batch_req_)");
  EXPECT_EQ(
      line.substr(17 + 24),
      R"(","custom_id":"a\"b","response":{"status_code":404,"request_id":"req_1","body":{"x": 1.50}},"error":null})");
  line = BatchErrorLine("c", "batch_expired", "too \"late\"");
  EXPECT_EQ(line.substr(0, 17), R"({"id":"batch_req_)");
  EXPECT_EQ(line.substr(17 + 24),
            R"(","custom_id":"c","response":null,"error":{"code":"batch_expired","message":"too \"late\""}})");
  EXPECT_NE(BatchErrorLine("c", "x", "y"), BatchErrorLine("c", "x", "y")) << "each has an id of its own";
}

constexpr std::string_view kUrl = "/v1/embeddings";

std::string Request(const std::string& id, const std::string& method = "POST",
                    const std::string& url = "/v1/embeddings") {
  return R"({"custom_id":")" + id + R"(","method":")" + method + R"(","url":")" + url + R"(","body":{}})";
}

// "CODE PARAM: MESSAGE" of the first error.
std::string ErrorOf(const std::string& content) {
  const BatchInput input = ParseBatchInput(content, kUrl);
  if (input.errors.empty()) return fmt::format("{} taken", input.lines.size());
  return input.errors[0].code + " " + input.errors[0].param + ": " + input.errors[0].message;
}

TEST(BatchInputTest, FieldsHaveTheirBounds) {
  EXPECT_EQ(ErrorOf(Request(std::string(512, 'i'))), "1 taken");
  EXPECT_EQ(ErrorOf(Request(std::string(513, 'i'))).substr(0, 24), "invalid_value custom_id:");
  EXPECT_EQ(ErrorOf(Request("")), "invalid_value custom_id: 'custom_id' must not be empty");
  EXPECT_EQ(ErrorOf(Request("a", std::string(16, 'M'))), "invalid_method method: 'method' must be \"POST\"");
  EXPECT_EQ(ErrorOf(Request("a", std::string(17, 'M'))).substr(0, 21), "invalid_value method:");
  EXPECT_EQ(ErrorOf(Request("a", "post")), "invalid_method method: 'method' must be \"POST\"");
  EXPECT_EQ(ErrorOf(Request("a", "POST", "/x")),
            "mismatched_endpoint url: 'url' is \"/x\", and the batch was created for /v1/embeddings");
  EXPECT_EQ(ErrorOf(Request("a", "POST", std::string(256, '/'))).substr(0, 24), "mismatched_endpoint url:");
  EXPECT_EQ(ErrorOf(Request("a", "POST", std::string(257, '/'))).substr(0, 18), "invalid_value url:");
  EXPECT_EQ(ErrorOf(R"({"custom_id":"a","method":"POST","url":"/v1/embeddings"})"),
            "missing_required_parameter body: 'body' is missing");
  EXPECT_EQ(ErrorOf(Request("a") + "\n" + Request("a")),
            "duplicate_custom_id custom_id: an earlier line has the custom_id 'a' too");
  EXPECT_EQ(ErrorOf(" \t\r\n\n"), "empty_file : the file holds no request");
  EXPECT_EQ(ErrorOf(R"({"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"stream":true}})"),
            "invalid_value body.stream: 'body.stream' must be false: the result of a batch is given whole");
  EXPECT_EQ(ErrorOf(R"({"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"background":true}})"),
            "invalid_value body.background: 'body.background' must be false: a batch runs in the background itself");
}

TEST(BatchInputTest, ALineHasAtMostFourMebibytes) {
  const std::string begin = R"({"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"input":")",
                    end = "\"}}";
  const std::string fits = begin + std::string(kMostBatchLineBytes - begin.size() - end.size(), 'x') + end;
  ASSERT_EQ(fits.size(), size_t{4} << 20);
  EXPECT_EQ(ErrorOf(fits), "1 taken");
  EXPECT_EQ(ErrorOf(fits + "\r\n"), "1 taken") << "its end does not count";
  EXPECT_EQ(ErrorOf(fits + " "), "invalid_value : it has more than 4194304 bytes");
}

TEST(BatchInputTest, AFileHasAtMostFiftyThousandRequestsAndAHundredErrors) {
  std::string lines;
  for (int i = 0; i < 50'000; ++i) lines += Request(std::to_string(i)) + "\n";
  EXPECT_EQ(ErrorOf(lines), "50000 taken");
  EXPECT_EQ(ErrorOf(lines + "\n"), "50000 taken") << "an empty line is no request";
  EXPECT_EQ(ErrorOf(lines + Request("more")), "too_many_requests : the file has more than 50000 requests; divide it");
  std::string wrong;
  for (int i = 0; i < 99; ++i) wrong += "x\n";
  EXPECT_EQ(ParseBatchInput(wrong, kUrl).errors.size(), 99u);
  const BatchInput most = ParseBatchInput(wrong + "x\nx\n", kUrl);
  EXPECT_EQ(most.errors.size(), 100u);
  EXPECT_EQ(most.errors.back().line, 100);
}

}  // namespace
}  // namespace inferflux::server
