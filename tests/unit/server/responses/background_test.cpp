// Responses that run without their client, and their events, which a later request reads from any of them on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

void SayInTwoPieces(const GenerationRequest&, TokenStream& stream) {
  stream.Push(Piece("Hel"));
  stream.Push(Piece("lo"));
  stream.Push(End(FinishReason::kStop, 9, 2));
}

std::vector<std::string> EventsIn(const std::string& body) {
  std::vector<std::string> out;
  for (size_t begin = 0, end = 0; (end = body.find("\n\n", begin)) != std::string::npos; begin = end + 2)
    out.push_back(body.substr(begin, end + 2 - begin));
  return out;
}

std::string IdIn(const std::string& body) { return body.substr(body.find("resp_"), 29); }

TEST(BackgroundTest, ItsEventsAreReadAgainFromAnyOfThemOn) {
  FakeServer fake(SayInTwoPieces);
  const std::string all = fake.Post("/v1/responses", R"({"input":"Hi","background":true,"stream":true})").body;
  const std::vector<std::string> events = EventsIn(all);
  ASSERT_GE(events.size(), 6u);
  EXPECT_THAT(events.front(), StartsWith("event: response.created\n"));
  EXPECT_THAT(events.back(), StartsWith("event: response.completed\n"));
  const std::string target = "/v1/responses/" + IdIn(all) + "?stream=true";
  EXPECT_EQ(fake.Get(target).body, all);
  std::string rest = all;
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_THAT(events[i], HasSubstr(fmt::format("\"sequence_number\":{},", i)));
    rest.erase(0, events[i].size());
    EXPECT_EQ(fake.Get(target + fmt::format("&starting_after={}", i)).body, rest) << i;
  }
  EXPECT_EQ(fake.Get(target + fmt::format("&starting_after={}", events.size() + 5)).body, "");
  for (const char* wrong : {"x", "1x", "-1", ""}) {
    const auto refused = fake.Get(target + "&starting_after=" + wrong);
    EXPECT_EQ(refused.status, 400) << wrong;
    EXPECT_THAT(refused.body,
                HasSubstr(fmt::format("'starting_after' must be the sequence_number of an event, but is {}", wrong)));
  }
  EXPECT_EQ(fake.Get("/v1/responses/" + IdIn(all) + "?stream=false").body.front(), '{');
}

TEST(BackgroundTest, AnAnswerIsThereBeforeItsText) {
  std::atomic<bool> go = false;
  FakeServer fake([&](const GenerationRequest& request, TokenStream& stream) {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    SayInTwoPieces(request, stream);
  });
  const auto started = fake.PostJson("/v1/responses", R"({"input":"Hi","background":true})");
  EXPECT_EQ(started.at("status"), "in_progress");
  EXPECT_EQ(started.at("background"), true);
  EXPECT_TRUE(started.at("output").as_array().empty());
  const std::string target = "/v1/responses/" + std::string(started.at("id").as_string());
  EXPECT_EQ(boost::json::parse(fake.Get(target).body), started);
  EXPECT_EQ(fake.Get(target + "?stream=true").status, 400) << "it was not created with a stream";
  EXPECT_EQ(fake.Post("/v1/responses",
                      R"({"input":"Hi","previous_response_id":")" + std::string(started.at("id").as_string()) + R"("})")
                .status,
            400);
  go = true;
  boost::json::value done = started;
  while (done.at("status") == "in_progress") done = boost::json::parse(fake.Get(target).body);
  EXPECT_EQ(done.at("status"), "completed");
  EXPECT_EQ(done.at("output").at(0).at("content").at(0).at("text"), "Hello");
  EXPECT_EQ(boost::json::parse(fake.Post(target + "/cancel", "").body), done) << "too late, and no error";
}

TEST(BackgroundTest, ACancelEndsIt) {
  FakeServer fake([](const GenerationRequest&, TokenStream& stream) {
    stream.Push(Piece("Hel"));
    while (!stream.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stream.Push(End(FinishReason::kCancelled, 9, 1));
  });
  const auto started = fake.PostJson("/v1/responses", R"({"input":"Hi","background":true})");
  const std::string target = "/v1/responses/" + std::string(started.at("id").as_string());
  const auto cancelled = boost::json::parse(fake.Post(target + "/cancel", "").body);
  EXPECT_EQ(cancelled.at("status"), "cancelled");
  EXPECT_EQ(boost::json::parse(fake.Get(target).body), cancelled);
  EXPECT_EQ(boost::json::parse(fake.Post(target + "/cancel", "").body), cancelled);
}

}  // namespace
}  // namespace inferflux::testing
