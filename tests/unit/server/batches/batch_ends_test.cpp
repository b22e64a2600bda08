// How batches end that do not run to their end at once: refused lines that come again, restarts, lost files and keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/batches/batch_body.h"
#include "server/batches/batch_runner.h"
#include "server/fake_model.h"
#include "server/store/file_store.h"

namespace inferflux::testing {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ChatLine(const std::string& id, const std::string& content) {
  return R"({"custom_id":")" + id +
         R"(","method":"POST","url":"/v1/chat/completions","body":{"model":"fake","messages":[{"role":"user","content":")" +
         content + "\"}]}}\n";
}

// A scheduler that refuses the first requests.
class BusyScheduler final : public scheduler::GenerationService {
 public:
  explicit BusyScheduler(std::vector<ErrorCode> refusals) : refusals_(std::move(refusals)) {}
  Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest request) override {
    const std::lock_guard lock(mutex_);
    priorities.push_back(request.priority);
    if (calls_ < refusals_.size()) return Fail(refusals_[calls_++], "no room");
    auto stream = std::make_shared<TokenStream>();
    stream->Push(Piece("Hello"));
    stream->Push(End(FinishReason::kStop, 1, 1));
    return stream;
  }
  void Drain(bool) override {}
  void Stop() override {}
  scheduler::SchedulerStats stats() const override { return {}; }

  std::vector<int32_t> priorities;

 private:
  std::mutex mutex_;
  const std::vector<ErrorCode> refusals_;
  size_t calls_ = 0;
};

// A store on disk, and servers that use it one after the other.
class BatchEndsTest : public ::testing::Test {
 protected:
  BatchEndsTest() {
    static std::atomic<int> number = 0;
    directory_ = std::filesystem::temp_directory_path() / fmt::format("inferflux_batches_{}_{}", ::getpid(), number++);
    std::filesystem::create_directories(directory_);
  }
  ~BatchEndsTest() override { std::filesystem::remove_all(directory_); }

  std::string Store() const { return (directory_ / "store").string(); }

  // Starts a server with the store on the model of `fake`.
  std::unique_ptr<server::ApiServer> Serve(FakeServer& fake, server::ApiKeys keys = {}) {
    server::ApiOptions options;
    options.store_file = Store();
    options.access.keys = std::move(keys);
    auto out = server::ApiServer::Start({}, fake.pool, fake.metrics, std::move(options));
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    return std::move(*out);
  }
  static net::ClientResponse Send(const server::ApiServer& server, net::ClientRequest request) {
    const auto answer = net::Client(net::ServerAddress{"127.0.0.1", server.port(), ""}).Send(request);
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    return answer ? *answer : net::ClientResponse();
  }
  static json::object Json(const net::ClientResponse& answer) { return json::parse(answer.body).as_object(); }
  static std::string Upload(const server::ApiServer& server, const std::string& content) {
    const std::string body =
        "--xyz\r\nContent-Disposition: form-data; name=purpose\r\n\r\nbatch\r\n"
        "--xyz\r\nContent-Disposition: form-data; name=file; filename=in.jsonl\r\n\r\n" +
        content + "\r\n--xyz--\r\n";
    const auto answer =
        Send(server, {"POST", "/v1/files", {{"Content-Type", "multipart/form-data; boundary=xyz"}}, body});
    return std::string(Json(answer).at("id").as_string());
  }
  static net::ClientResponse Create(const server::ApiServer& server, const std::string& file) {
    return Send(server,
                {"POST",
                 "/v1/batches",
                 {},
                 R"({"input_file_id":")" + file + R"(","endpoint":"/v1/chat/completions","completion_window":"24h"})"});
  }
  static json::object Await(const server::ApiServer& server, const std::string& id, const std::string& status) {
    json::object out;
    for (int i = 0; i < 4000; ++i) {
      out = Json(Send(server, {"GET", "/v1/batches/" + id}));
      if (out.at("status") == json::string(status)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(out.at("status"), json::string(status)) << json::serialize(out);
    return out;
  }
  static std::string IdOf(const net::ClientResponse& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    return std::string(Json(answer).at("id").as_string());
  }
  static std::string Content(const server::ApiServer& server, const json::value& file) {
    return Send(server, {"GET", "/v1/files/" + std::string(file.as_string()) + "/content"}).body;
  }
  // A batch of two lines in the store: what a server left that ended. `change` edits its body.
  void Leave(const std::string& id, const std::string& status, int64_t seconds_left, const std::string& owner = "",
             const std::string& endpoint = "/v1/chat/completions", bool file = true) {
    auto database = server::OpenBatchDatabase(Store());
    ASSERT_TRUE(database) << database.error().message;
    const std::string lines = ChatLine("a", "Hi") + ChatLine("b", "Ho");
    server::FileStore files(*database);
    if (file) {
      ASSERT_TRUE(files.Put(owner, {.id = "file-" + id, .filename = "in.jsonl", .purpose = "batch"}, lines));
    }
    const int64_t now = std::time(nullptr);
    json::object body{{"id", id},
                      {"object", "batch"},
                      {"endpoint", endpoint},
                      {"input_file_id", "file-" + id},
                      {"completion_window", "24h"},
                      {"created_at", now},
                      {"expires_at", now + seconds_left}};
    server::SetBatchStatus(body, status);
    server::SetBatchCounts(body, {});
    server::BatchStore batches(*database);
    ASSERT_TRUE(batches.Add(
        {.id = id, .owner = owner, .input = "file-" + id, .expires = now + 10'000, .body = json::serialize(body)}));
    if (status != "validating") {
      ASSERT_TRUE(batches.SetLines(id, server::ParseBatchInput(lines, "/v1/chat/completions").lines));
    }
  }

  std::filesystem::path directory_;
};

void AnswerHello(const GenerationRequest&, TokenStream& stream) {
  stream.Push(Piece("Hello"));
  stream.Push(End(FinishReason::kStop, 1, 1));
}

TEST_F(BatchEndsTest, ALineThatFindsNoRoomComesAgainAtTheLowestPriority) {
  const auto busy =
      std::make_shared<BusyScheduler>(std::vector{ErrorCode::kResourceExhausted, ErrorCode::kUnavailable});
  FakeServer fake(AnswerHello, {}, [&](serving::ServedModel& model) { model.scheduler = busy; });
  const std::string id = IdOf(Create(*fake.server, Upload(*fake.server, ChatLine("a", "Hi"))));
  const json::object batch = Await(*fake.server, id, "completed");
  EXPECT_EQ(json::serialize(batch.at("request_counts")), R"({"total":1,"completed":1,"failed":0})");
  EXPECT_FALSE(batch.contains("error_file_id"));
  EXPECT_THAT(Content(*fake.server, batch.at("output_file_id")), HasSubstr("\"Hello\""));
  EXPECT_THAT(busy->priorities, ElementsAre(server::kBatchPriority, server::kBatchPriority, server::kBatchPriority));
}

TEST_F(BatchEndsTest, ALineThatIsRefusedForWhatItIsDoesNotComeAgain) {
  const auto busy = std::make_shared<BusyScheduler>(std::vector{ErrorCode::kInvalidArgument, ErrorCode::kInternal});
  FakeServer fake(AnswerHello, {}, [&](serving::ServedModel& model) { model.scheduler = busy; });
  const std::string lines = ChatLine("a", "Hi") + ChatLine("b", "Hi") + ChatLine("c", "Hi");
  const json::object batch = Await(*fake.server, IdOf(Create(*fake.server, Upload(*fake.server, lines))), "completed");
  EXPECT_EQ(json::serialize(batch.at("request_counts")), R"({"total":3,"completed":1,"failed":2})");
  const std::string errors = Content(*fake.server, batch.at("error_file_id"));
  EXPECT_THAT(errors, HasSubstr("\"status_code\":400"));
  EXPECT_THAT(errors, HasSubstr("\"status_code\":500"));
  EXPECT_EQ(busy->priorities.size(), 3u);
}

TEST_F(BatchEndsTest, WhatAServerLeftGoesOnInTheNext) {
  Leave("batch_new", "validating", 1000);
  Leave("batch_half", "in_progress", 1000);
  Leave("batch_late", "in_progress", -1);
  Leave("batch_cut", "cancelling", 1000);
  {
    auto database = server::OpenBatchDatabase(Store());
    server::BatchStore batches(*database);
    ASSERT_TRUE(batches.SetResult("batch_half", 1, true, R"({"custom_id":"a","before":true})"));
  }
  FakeServer fake(AnswerHello);
  const auto server = Serve(fake);
  EXPECT_EQ(Json(Send(*server, {"GET", "/v1/batches/batch_new"})).at("status"), "validating") << "not ready yet";
  server->SetReady();
  const json::object fresh = Await(*server, "batch_new", "completed");
  EXPECT_EQ(json::serialize(fresh.at("request_counts")), R"({"total":2,"completed":2,"failed":0})");
  EXPECT_TRUE(fresh.contains("in_progress_at"));
  const json::object half = Await(*server, "batch_half", "completed");
  const std::string output = Content(*server, half.at("output_file_id"));
  EXPECT_EQ(output.substr(0, output.find('\n')), R"({"custom_id":"a","before":true})");
  EXPECT_THAT(output, HasSubstr("\"custom_id\":\"b\""));
  const json::object late = Await(*server, "batch_late", "expired");
  EXPECT_EQ(json::serialize(late.at("request_counts")), R"({"total":2,"completed":0,"failed":2})");
  EXPECT_THAT(Content(*server, late.at("error_file_id")),
              HasSubstr(R"("error":{"code":"batch_expired","message":"This request could not be executed before the )"
                        R"(completion window expired."}})"));
  EXPECT_TRUE(late.contains("finalizing_at"));
  EXPECT_TRUE(late.contains("expired_at"));
  const json::object cut = Await(*server, "batch_cut", "cancelled");
  EXPECT_FALSE(cut.contains("finalizing_at"));
  EXPECT_THAT(Content(*server, cut.at("error_file_id")), HasSubstr("\"batch_cancelled\""));
  EXPECT_EQ(fake.scheduler->requests().size(), 3u);
}

TEST_F(BatchEndsTest, WhatCannotRunAnyMoreFails) {
  Leave("batch_lost", "validating", 1000, "", "/v1/chat/completions", false);
  Leave("batch_stranger", "in_progress", 1000, "no such key");
  Leave("batch_elsewhere", "in_progress", 1000, "", "/v1/images");
  const auto error = [](const json::object& batch) {
    EXPECT_TRUE(batch.contains("failed_at"));
    return json::serialize(batch.at("errors").at("data"));
  };
  FakeServer fake(AnswerHello);
  {
    const auto server = Serve(fake);
    server->SetReady();
    EXPECT_EQ(error(Await(*server, "batch_lost", "failed")),
              R"([{"code":"input_file_not_found","message":"the file file-batch_lost is gone",)"
              R"("param":"input_file_id","line":null}])");
    EXPECT_EQ(error(Await(*server, "batch_elsewhere", "failed")),
              R"([{"code":"invalid_endpoint","message":"this server has no batches for /v1/images",)"
              R"("param":null,"line":null}])");
    server->Stop(std::chrono::milliseconds(0));
  }
  auto database = server::OpenBatchDatabase(Store());
  server::BatchStore batches(*database);
  const auto stranger = batches.Get("no such key", "batch_stranger");
  ASSERT_TRUE(stranger);
  EXPECT_FALSE(stranger->unfinished);
  EXPECT_EQ(error(json::parse(stranger->body).as_object()),
            R"([{"code":"invalid_api_key","message":"the API key that created the batch may no longer generate here",)"
            R"("param":null,"line":null}])");
  EXPECT_EQ(fake.scheduler->requests().size(), 0u);
}

TEST_F(BatchEndsTest, ABatchThatWasNotTakenUpIsCancelledToo) {
  FakeServer fake(AnswerHello);
  const auto server = Serve(fake);  // not ready
  const std::string id = IdOf(Create(*server, Upload(*server, ChatLine("a", "Hi"))));
  EXPECT_EQ(Json(Send(*server, {"GET", "/v1/batches/" + id})).at("status"), "validating");
  EXPECT_EQ(Json(Send(*server, {"POST", "/v1/batches/" + id + "/cancel"})).at("status"), "cancelling");
  EXPECT_EQ(Json(Send(*server, {"GET", "/v1/batches/" + id})).at("status"), "cancelling");
  server->SetReady();
  const json::object batch = Await(*server, id, "cancelled");
  EXPECT_EQ(json::serialize(batch.at("request_counts")), R"({"total":0,"completed":0,"failed":0})");
  EXPECT_EQ(Json(Send(*server, {"POST", "/v1/batches/" + id + "/cancel"})).at("status"), "cancelled");
  EXPECT_EQ(fake.scheduler->requests().size(), 0u);
}

TEST_F(BatchEndsTest, AHundredBatchesOfAKeyMayWait) {
  FakeServer fake(AnswerHello);
  const auto server = Serve(fake);
  const std::string file = Upload(*server, ChatLine("a", "Hi"));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Create(*server, file).status, 200) << i;
  const auto refused = Create(*server, file);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(net::FindHeader(refused.headers, "Retry-After"), "60");
  EXPECT_EQ(refused.body, R"({"error":{"message":"100 batches of this key have not ended; wait for some of them",)"
                          R"("type":"rate_limit_error","param":null,"code":"too_many_batches"}})");
  const auto in_use = Send(*server, {"DELETE", "/v1/files/" + file});
  EXPECT_EQ(in_use.status, 409);
  EXPECT_THAT(in_use.body, HasSubstr("\"code\":\"file_in_use\""));
}

// Of each owner the oldest batch runs, and the owners take turns.
TEST_F(BatchEndsTest, OwnersTakeTurns) {
  std::mutex mutex;
  std::string order;
  FakeServer fake([&](const GenerationRequest& request, TokenStream& stream) {
    const std::string prompt(request.prompt.begin(), request.prompt.end());
    {
      const std::lock_guard lock(mutex);
      for (const char* name : {"ann", "bob"}) {
        if (prompt.find(name) != std::string::npos) order += name[0];
      }
    }
    stream.Push(End(FinishReason::kStop, 1, 1));
  });
  const auto key = [](const std::string& text) {
    keys::KeyLine out;
    out.hash = keys::HashOf(text);
    out.scopes = keys::kEveryScope;
    return out;
  };
  server::ApiKeys keys({key("ann"), key("bob")});
  const auto server = Serve(fake, keys);
  std::map<std::string, std::string> ids;
  for (const std::string name : {"ann", "bob"}) {
    std::string lines;
    for (int i = 0; i < 30; ++i) lines += ChatLine(std::to_string(i), name);
    const std::vector<net::Header> as = {{"Authorization", "Bearer " + name},
                                         {"Content-Type", "multipart/form-data; boundary=xyz"}};
    const std::string form =
        "--xyz\r\nContent-Disposition: form-data; name=purpose\r\n\r\nbatch\r\n"
        "--xyz\r\nContent-Disposition: form-data; name=file; filename=in.jsonl\r\n\r\n" +
        lines + "\r\n--xyz--\r\n";
    const std::string file = IdOf(Send(*server, {"POST", "/v1/files", as, form}));
    ids[name] = IdOf(Send(*server, {"POST",
                                    "/v1/batches",
                                    {as[0]},
                                    R"({"input_file_id":")" + file +
                                        R"(","endpoint":"/v1/chat/completions","completion_window":"24h"})"}));
  }
  server->SetReady();
  for (const auto& [name, id] : ids) {
    json::object batch;
    for (int i = 0; i < 4000; ++i) {
      batch = Json(Send(*server, {"GET", "/v1/batches/" + id, {{"Authorization", "Bearer " + name}}, {}}));
      if (batch.at("status") == "completed") break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(batch.at("status"), "completed");
  }
  // Which of the running lines is heard first is chance: 16 run at once.
  const auto ahead = [&](size_t count) {
    const auto of = [&](char name) { return std::ranges::count(order.substr(0, count), name); };
    return std::abs(of('a') - of('b'));
  };
  ASSERT_EQ(order.size(), 60u);
  for (size_t count = 1; count <= 60; ++count) EXPECT_LE(ahead(count), 17) << order.substr(0, count);
  EXPECT_NE(Send(*server, {"GET", "/v1/batches/" + ids["ann"], {{"Authorization", "Bearer bob"}}, {}}).status, 200);
}

}  // namespace
}  // namespace inferflux::testing
