// Batches from the upload of their lines to the files of their results, on a model with scripted answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <ctime>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

std::string Line(const std::string& id, const std::string& content) {
  return R"({"custom_id":")" + id +
         R"(","method":"POST","url":"/v1/chat/completions","body":{"model":"fake","messages":[{"role":"user","content":")" +
         content + "\"}]}}\n";
}

class BatchRunTest : public ::testing::Test {
 protected:
  void Answer(const GenerationRequest& request, TokenStream& stream) {
    const std::string prompt(request.prompt.begin(), request.prompt.end());
    ++begun_;
    while (prompt.find("wait") != std::string::npos && !go_ && !stream.cancelled())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    StreamEvent event = End(FinishReason::kStop, 9, 2);
    event.text = "Hello";
    if (stream.cancelled()) event.finish->reason = FinishReason::kCancelled;
    if (prompt.find("fail") != std::string::npos) {
      event.finish->reason = FinishReason::kError;
      event.finish->error = {ErrorCode::kInternal, "the device is gone"};
    }
    stream.Push(std::move(event));
  }
  ~BatchRunTest() override { go_ = true; }

  json::object Json(const net::ClientResponse& response, int status = 200) {
    EXPECT_EQ(response.status, status) << response.body;
    return json::parse(response.body).as_object();
  }
  json::object Upload(const std::string& content, const std::string& more = "") {
    const std::string body = "--xyz\r\nContent-Disposition: form-data; name=purpose\r\n\r\nbatch\r\n" + more +
                             "--xyz\r\nContent-Disposition: form-data; name=file; filename=in.jsonl\r\n\r\n" + content +
                             "\r\n--xyz--\r\n";
    return Json(fake_.Post("/v1/files", body, {{"Content-Type", "multipart/form-data; boundary=xyz"}}));
  }
  json::object Create(const std::string& file, const std::string& more = "") {
    return Json(fake_.Post("/v1/batches", R"({"input_file_id":")" + file +
                                              R"(","endpoint":"/v1/chat/completions","completion_window":"24h")" +
                                              more + "}"));
  }
  json::object Await(const std::string& id, const std::string& status) {
    json::object out;
    for (int i = 0; i < 4000; ++i) {
      out = Json(fake_.Get("/v1/batches/" + id));
      if (out.at("status") == json::string(status)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(out.at("status"), json::string(status)) << json::serialize(out);
    return out;
  }
  std::vector<json::object> Lines(const json::value& file) {
    std::vector<json::object> out;
    std::istringstream lines(fake_.Get("/v1/files/" + Text(file) + "/content").body);
    for (std::string line; std::getline(lines, line);) out.push_back(json::parse(line).as_object());
    return out;
  }
  static std::string Text(const json::value& value) { return std::string(value.as_string()); }
  // A moment of this test.
  static void ExpectNow(const json::value& time) {
    EXPECT_NEAR(static_cast<double>(time.as_int64()), static_cast<double>(std::time(nullptr)), 60);
  }

  std::atomic<bool> go_{false};
  std::atomic<int> begun_{0};
  FakeServer fake_{[this](const GenerationRequest& request, TokenStream& stream) { Answer(request, stream); }};
};

// Each line is refused before anything waits, so the batch ends inside the step that begins it.
TEST_F(BatchRunTest, LinesThatAreAnsweredAtOnceEndTheirBatch) {
  const std::string line =
      R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"other","messages":[]}})";
  for (int i = 0; i < 20; ++i) {
    const std::string file = Text(Upload(line).at("id"));
    const json::object batch = Await(Text(Create(file).at("id")), "completed");
    EXPECT_EQ(batch.at("request_counts"), (json::object{{"total", 1}, {"completed", 0}, {"failed", 1}}));
  }
}

TEST_F(BatchRunTest, AFileIsDescribedListedAndDeleted) {
  const json::object file =
      Upload("abc",
             "--xyz\r\nContent-Disposition: form-data; name=expires_after[anchor]\r\n\r\ncreated_at\r\n"
             "--xyz\r\nContent-Disposition: form-data; name=expires_after[seconds]\r\n\r\n7200\r\n");
  const std::string id = Text(file.at("id"));
  EXPECT_EQ(id.substr(0, 5), "file-");
  EXPECT_EQ(file.at("object"), "file");
  EXPECT_EQ(file.at("bytes"), 3);
  EXPECT_EQ(file.at("filename"), "in.jsonl");
  EXPECT_EQ(file.at("purpose"), "batch");
  ExpectNow(file.at("created_at"));
  EXPECT_EQ(file.at("expires_at").as_int64(), file.at("created_at").as_int64() + 7200);
  EXPECT_EQ(Json(fake_.Get("/v1/files/" + id)), file);
  EXPECT_EQ(fake_.Get("/v1/files/" + id + "/content").body, "abc");
  const json::object second = Upload("d");
  const json::object list = Json(fake_.Get("/v1/files"));
  EXPECT_EQ(list.at("data"), (json::array{second, file})) << "the newest first";
  EXPECT_EQ(list.at("has_more"), false);
  const json::object page = Json(fake_.Get("/v1/files?limit=1&order=asc"));
  EXPECT_EQ(page.at("data"), json::array{file});
  EXPECT_EQ(page.at("first_id"), file.at("id"));
  EXPECT_EQ(page.at("last_id"), file.at("id"));
  EXPECT_EQ(page.at("has_more"), true);
  EXPECT_EQ(Json(fake_.Get("/v1/files?purpose=vision")).at("data"), json::array());
  EXPECT_EQ(Json(fake_.Get("/v1/files?after=" + id + "&order=asc")).at("data"), json::array{second});
}

TEST_F(BatchRunTest, ABatchHasTheResultsOfItsLines) {
  const std::string file = Text(Upload(Line("a", "Hi") + Line("b", "fail") + Line("c", "Hi")).at("id"));
  const json::object created =
      Create(file, R"(,"metadata":{"k":"v"},"output_expires_after":{"anchor":"created_at","seconds":3600})");
  EXPECT_EQ(created.at("object"), "batch");
  EXPECT_EQ(created.at("endpoint"), "/v1/chat/completions");
  EXPECT_EQ(created.at("input_file_id"), json::string(file));
  EXPECT_EQ(created.at("completion_window"), "24h");
  EXPECT_EQ(created.at("metadata"), json::parse(R"({"k":"v"})"));
  EXPECT_EQ(created.at("expires_at").as_int64(), created.at("created_at").as_int64() + 24 * 3600);
  const std::string id = Text(created.at("id"));
  const json::object batch = Await(id, "completed");
  EXPECT_EQ(batch.at("request_counts"), json::parse(R"({"total":3,"completed":2,"failed":1})"));
  for (const char* time : {"created_at", "in_progress_at", "finalizing_at", "completed_at"}) ExpectNow(batch.at(time));
  EXPECT_FALSE(batch.contains("cancelled_at") && !batch.at("cancelled_at").is_null());
  const auto output = Lines(batch.at("output_file_id")), errors = Lines(batch.at("error_file_id"));
  ASSERT_EQ(output.size(), 2u);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(output[0].at("custom_id"), "a");
  EXPECT_EQ(output[1].at("custom_id"), "c");
  EXPECT_TRUE(output[0].at("error").is_null());
  EXPECT_EQ(output[0].at("response").at("status_code"), 200);
  EXPECT_EQ(Text(output[0].at("response").at("request_id")).substr(0, 4), "req_");
  EXPECT_EQ(output[0].at("response").at("body").at("choices").at(0).at("message").at("content"), "Hello");
  EXPECT_EQ(errors[0].at("custom_id"), "b");
  EXPECT_EQ(errors[0].at("response").at("status_code"), 500);
  EXPECT_EQ(errors[0].at("response").at("body").at("error").at("message"), "the device is gone");
  const json::object result = Json(fake_.Get("/v1/files/" + Text(batch.at("output_file_id"))));
  EXPECT_EQ(result.at("filename"), json::string(id + "_output.jsonl"));
  EXPECT_EQ(result.at("purpose"), "batch_output");
  EXPECT_EQ(result.at("expires_at").as_int64(), result.at("created_at").as_int64() + 3600);
  EXPECT_EQ(Json(fake_.Get("/v1/files/" + Text(batch.at("error_file_id")))).at("filename"),
            json::string(id + "_error.jsonl"));
  EXPECT_EQ(Json(fake_.Get("/v1/batches")).at("data"), json::array{batch});
  EXPECT_EQ(Json(fake_.Post("/v1/batches/" + id + "/cancel", "{}"), 409).at("error").at("type"),
            "invalid_request_error");
}

TEST_F(BatchRunTest, ACancelledBatchKeepsWhatItHasAndNamesTheRest) {
  std::string lines = Line("first", "Hi");
  for (int i = 0; i < 200; ++i) lines += Line("w" + std::to_string(i), "wait");
  const std::string id = Text(Create(Text(Upload(lines).at("id"))).at("id"));
  EXPECT_FALSE(Await(id, "in_progress").contains("output_file_id"));
  for (int i = 0;
       i < 4000 && (begun_ < 2 || Json(fake_.Get("/v1/batches/" + id)).at("request_counts").at("completed") != 1);
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const json::object cancelling = Json(fake_.Post("/v1/batches/" + id + "/cancel", "{}"));
  EXPECT_TRUE(cancelling.at("status") == "cancelling" || cancelling.at("status") == "cancelled")
      << json::serialize(cancelling);
  const json::object batch = Await(id, "cancelled");
  ExpectNow(batch.at("cancelling_at"));
  ExpectNow(batch.at("cancelled_at"));
  EXPECT_EQ(batch.at("request_counts").at("total"), 201);
  EXPECT_EQ(batch.at("request_counts").at("completed"), 1);
  const auto errors = Lines(batch.at("error_file_id"));
  ASSERT_EQ(errors.size(), 200u);
  EXPECT_EQ(errors[0].at("custom_id"), "w0");
  EXPECT_TRUE(errors[0].at("response").is_null());
  EXPECT_EQ(
      errors[0].at("error"),
      json::parse(R"({"code":"batch_cancelled","message":"This request was not run: the batch was cancelled."})"));
}

TEST_F(BatchRunTest, ABatchWithWrongLinesFails) {
  const std::string file = Text(Upload("x\n" + Line("a", "Hi")).at("id"));
  const json::object batch = Await(Text(Create(file).at("id")), "failed");
  ExpectNow(batch.at("failed_at"));
  const json::object& error = batch.at("errors").at("data").at(0).as_object();
  EXPECT_EQ(error.at("code"), "invalid_json_line");
  EXPECT_EQ(error.at("line"), 1);
  EXPECT_EQ(batch.at("request_counts"), json::parse(R"({"total":0,"completed":0,"failed":0})"));
  EXPECT_EQ(Json(fake_.Post("/v1/batches",
                            R"({"input_file_id":"file-none","endpoint":"/v1/embeddings","completion_window":"24h"})"),
                 400)
                .at("error")
                .at("param"),
            "input_file_id");
  EXPECT_EQ(fake_.scheduler->requests().size(), 0u);
}

}  // namespace
}  // namespace inferflux::testing
