// Responses and conversations in the store: what a restart, a deletion and a failure leave of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "server/fake_model.h"
#include "server/store/object_store.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;

void SayHo(const GenerationRequest&, TokenStream& stream) {
  stream.Push(Piece("Ho"));
  stream.Push(End(FinishReason::kStop, 9, 2));
}

std::string IdOf(const boost::json::value& object) { return std::string(object.at("id").as_string()); }

// The texts of a conversation's items, the oldest first.
std::string TextsOf(FakeServer& fake, const std::string& conversation) {
  std::string out;
  const auto items = boost::json::parse(fake.Get("/v1/conversations/" + conversation + "/items?order=asc").body);
  for (const auto& item : items.at("data").as_array()) {
    const auto& content = item.at("content");
    out += content.is_string() ? std::string(content.as_string()) : std::string(content.at(0).at("text").as_string());
    out += "|";
  }
  return out;
}

TEST(StoredResponsesTest, OneThatItsServerDidNotCompleteHasFailed) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("inferflux_stored_responses_" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const std::string path = (directory / "store").string();
  {
    auto store = server::ObjectStore::Open(path);
    ASSERT_TRUE(store) << store.error().message;
    const std::string body = R"(,"object":"response","status":"in_progress","background":true,"output":[]})";
    const std::string history = R"({"items":[],"input":[{"id":"msg_1","type":"message"}]})";
    ASSERT_TRUE(
        (*store)->Put("response", "", {.id = "resp_x", .body = R"({"id":"resp_x")" + body, .history = history}));
  }
  FakeServer fake(SayHo);
  server::ApiOptions options;
  options.store_file = path;
  auto server = server::ApiServer::Start({}, fake.pool, fake.metrics, std::move(options));
  ASSERT_TRUE(server) << server.error().message;
  const net::Client client(net::ServerAddress{"127.0.0.1", (*server)->port(), ""});
  const std::string failed =
      R"({"id":"resp_x","object":"response","status":"failed","background":true,"output":[],)"
      R"("error":{"code":"server_error","message":"the server stopped before the response was complete"}})";
  EXPECT_EQ(client.Send({"GET", "/v1/responses/resp_x"})->body, failed);
  EXPECT_EQ(client.Send({"POST", "/v1/responses/resp_x/cancel"})->body, failed) << "there is nothing to cancel";
  EXPECT_THAT(client.Send({"GET", "/v1/responses/resp_x/input_items"})->body, HasSubstr("\"first_id\":\"msg_1\""));
  const auto continued =
      client.Send({"POST", "/v1/responses", {}, R"({"input":"Hi","previous_response_id":"resp_x"})"});
  EXPECT_EQ(continued->status, 400);
  server->reset();
  std::filesystem::remove_all(directory);
}

TEST(StoredResponsesTest, ADeletedOneIsCancelledAndGoneWithItsEvents) {
  std::atomic<bool> ended = false;
  FakeServer fake([&](const GenerationRequest&, TokenStream& stream) {
    stream.Push(Piece("Hel"));
    while (!stream.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stream.Push(End(FinishReason::kCancelled, 9, 1));
    ended = true;
  });
  const auto started = fake.PostJson("/v1/responses", R"({"input":"Hi","background":true})");
  const std::string target = "/v1/responses/" + IdOf(started);
  EXPECT_EQ(fake.Delete(target).body, R"({"id":")" + IdOf(started) + R"(","object":"response","deleted":true})");
  EXPECT_EQ(fake.Get(target).status, 404);
  EXPECT_EQ(fake.Delete(target).status, 404);
  EXPECT_EQ(fake.Post(target + "/cancel", "").status, 404);
  while (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(StoredResponsesTest, OnlyABackgroundOneCanBeCancelled) {
  FakeServer fake(SayHo);
  const auto done = fake.PostJson("/v1/responses", R"({"input":"Hi"})");
  const auto refused = fake.Post("/v1/responses/" + IdOf(done) + "/cancel", "");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("only a response that was created with 'background' can be cancelled"));
  EXPECT_THAT(fake.Get("/v1/responses/" + IdOf(done) + "?stream=true").body,
              HasSubstr("needs a response that was created with 'background' and 'stream'"));
  EXPECT_THAT(fake.Get("/v1/responses/resp_none").body, HasSubstr("Response with id 'resp_none' not found"));
  const auto unkept = fake.PostJson("/v1/responses", R"({"input":"Hi","store":false})");
  EXPECT_EQ(fake.Get("/v1/responses/" + IdOf(unkept)).status, 404);
}

TEST(StoredResponsesTest, AConversationGrowsByWhatDidNotFail) {
  FakeServer fake([](const GenerationRequest& request, TokenStream& stream) {
    const std::string prompt(request.prompt.begin(), request.prompt.end());
    if (!prompt.ends_with("user: fail\n>")) return SayHo(request, stream);
    StreamEvent end = End(FinishReason::kError, 9, 0);
    end.finish->error = {ErrorCode::kInternal, "the device is gone"};
    stream.Push(std::move(end));
  });
  const std::string id = IdOf(fake.PostJson("/v1/conversations", "{}"));
  const auto say = [&](const std::string& text, const std::string& more = "") {
    return fake.Post("/v1/responses", R"({"conversation":")" + id + R"(","input":")" + text + "\"" + more + "}");
  };
  EXPECT_EQ(say("one").status, 200);
  EXPECT_EQ(TextsOf(fake, id), "one|Ho|");
  EXPECT_EQ(say("fail").status, 500);
  EXPECT_EQ(TextsOf(fake, id), "one|Ho|");
  EXPECT_EQ(say("two", R"(,"store":false)").status, 200);
  EXPECT_EQ(TextsOf(fake, id), "one|Ho|two|Ho|");
}

TEST(StoredResponsesTest, ABackgroundAnswerJoinsItsConversationOnce) {
  FakeServer fake(SayHo);
  const std::string id = IdOf(fake.PostJson("/v1/conversations", "{}"));
  const auto started =
      fake.PostJson("/v1/responses", R"({"conversation":")" + id + R"(","input":"one","background":true})");
  boost::json::value done = started;
  while (done.at("status") == "in_progress") done = boost::json::parse(fake.Get("/v1/responses/" + IdOf(started)).body);
  EXPECT_EQ(done.at("status"), "completed");
  EXPECT_EQ(TextsOf(fake, id), "one|Ho|");
}

TEST(StoredResponsesTest, AtMost256RunInTheBackground) {
  std::atomic<bool> go = false;
  FakeServer fake([&](const GenerationRequest&, TokenStream& stream) {
    while (!go && !stream.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stream.Push(End(FinishReason::kStop, 1, 1));
  });
  const std::string body = R"({"input":"Hi","background":true})";
  for (int i = 0; i < 256; ++i) ASSERT_EQ(fake.Post("/v1/responses", body).status, 200) << i;
  const auto refused = fake.Post("/v1/responses", body);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.body, R"({"error":{"message":"too many responses run in the background; wait for some of them",)"
                          R"("type":"rate_limit_error","param":null,"code":"overloaded"}})");
  go = true;
}

}  // namespace
}  // namespace inferflux::testing
