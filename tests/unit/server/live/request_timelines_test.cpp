// GET /v1/requests and /v1/requests/{id}: the whole answers, and who may see what.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using scheduler::FinishedRequest;
using scheduler::TimelinePhase;
using Kind = TimelinePhase::Kind;

FinishedRequest Ended(const std::string& id, int64_t at_ms, FinishReason reason = FinishReason::kStop,
                      const std::string& account = "") {
  FinishedRequest out;
  out.request_id = id;
  out.account = account;
  out.ended = std::chrono::system_clock::time_point(std::chrono::milliseconds(at_ms));
  out.seconds = 1.5;
  out.reason = reason;
  out.usage = {
      .prompt_tokens = 11, .completion_tokens = 22, .cached_tokens = 3, .drafted_tokens = 9, .accepted_tokens = 7};
  return out;
}

void Nothing(const GenerationRequest&, TokenStream&) {}

std::string Ids(const net::ClientResponse& list) {
  std::string out;
  const auto body = boost::json::parse(list.body);
  for (const auto& entry : body.at("data").as_array()) {
    out += std::string(entry.at("model").as_string()) + ":" + std::string(entry.at("id").as_string()) + " ";
  }
  return out;
}

keys::KeyLine KeyOf(const std::string& key, keys::Scopes scopes) {
  return {.hash = keys::HashOf(key), .scopes = scopes};
}

TEST(RequestTimelinesTest, TheLastRequestsOfAllModelsAreListed) {
  FakeServer fake(Nothing);
  auto other = std::make_shared<serving::ServedModel>();
  const auto others = std::make_shared<FakeScheduler>(Nothing);
  others->past = std::make_unique<scheduler::RequestHistory>();
  other->id = "other";
  other->scheduler = others;
  auto silent = std::make_shared<serving::ServedModel>();
  silent->id = "silent";
  silent->scheduler = std::make_shared<FakeScheduler>(Nothing);
  ASSERT_TRUE(fake.pool.Add(silent));
  ASSERT_TRUE(fake.pool.Add(other));
  fake.scheduler->past = std::make_unique<scheduler::RequestHistory>();
  fake.scheduler->past->Add(Ended("a", 1'000, FinishReason::kLength));
  fake.scheduler->past->Add(Ended("b", 3'000, FinishReason::kCancelled));
  others->past->Add(Ended("c", 2'000, FinishReason::kError));
  others->past->Add(Ended("d", 4'321));
  const auto entry = [](const char* id, const char* model, int at, const char* outcome) {
    return fmt::format(
        R"({{"id":"{}","object":"request","model":"{}","ended_at":{},"seconds":1.5E0,"outcome":"{}",)"
        R"("prompt_tokens":11,"cached_tokens":3,"completion_tokens":22,"drafted_tokens":9,"accepted_tokens":7}})",
        id, model, at, outcome);
  };
  EXPECT_EQ(fake.Get("/v1/requests").body, R"({"object":"list","data":[)" + entry("d", "other", 4321, "stop") + "," +
                                               entry("b", "fake", 3000, "cancelled") + "," +
                                               entry("c", "other", 2000, "error") + "," +
                                               entry("a", "fake", 1000, "length") + "]}");
}

TEST(RequestTimelinesTest, AModelThatRemembersNoneHasNone) {
  FakeServer fake(Nothing);
  EXPECT_EQ(fake.Get("/v1/requests").body, R"({"object":"list","data":[]})");
  EXPECT_EQ(fake.Get("/v1/requests/r").status, 404);
}

TEST(RequestTimelinesTest, AListHasAHundredRequestsAtMost) {
  FakeServer fake(Nothing);
  fake.scheduler->past = std::make_unique<scheduler::RequestHistory>();
  for (int i = 1; i <= 101; ++i) fake.scheduler->past->Add(Ended("r" + std::to_string(i), i));
  const auto list = boost::json::parse(fake.Get("/v1/requests").body).at("data").as_array();
  ASSERT_EQ(list.size(), 100u);
  EXPECT_EQ(list.front().at("id"), "r101");
  EXPECT_EQ(list.back().at("id"), "r2");
}

TEST(RequestTimelinesTest, ATimelineHasThePhasesOfEachGeneration) {
  FakeServer fake(Nothing);
  fake.scheduler->past = std::make_unique<scheduler::RequestHistory>();
  FinishedRequest first = Ended("r", 1'000);
  first.phases = {{Kind::kQueued, 0, 0.5, 0, 1},
                  {Kind::kPrefill, 0.5, 1, 10, 2},
                  {Kind::kDecode, 1, 1.5, 20, 3},
                  {Kind::kWaiting, 1.5, 2, 30, 4},
                  {Kind::kPreempted, 2, 2.5, 40, 5}};
  fake.scheduler->past->Add(first);
  fake.scheduler->past->Add(Ended("other", 1'500));
  fake.scheduler->past->Add(Ended("r", 2'000, FinishReason::kLength));
  const auto phase = [](const char* kind, const char* begin, const char* end, int tokens, int steps) {
    return fmt::format(R"({{"kind":"{}","begin":{},"end":{},"tokens":{},"steps":{}}})", kind, begin, end, tokens,
                       steps);
  };
  const std::string usage =
      R"("prompt_tokens":11,"cached_tokens":3,"completion_tokens":22,"drafted_tokens":9,"accepted_tokens":7,"phases":[)";
  EXPECT_EQ(fake.Get("/v1/requests/r").body,
            R"({"id":"r","object":"request.timeline","generations":[)"
            R"({"id":"r","object":"request","model":"fake","ended_at":2000,"seconds":1.5E0,"outcome":"length",)" +
                usage +
                R"(]},{"id":"r","object":"request","model":"fake","ended_at":1000,"seconds":1.5E0,"outcome":"stop",)" +
                usage + phase("queued", "0E0", "5E-1", 0, 1) + "," + phase("prefill", "5E-1", "1E0", 10, 2) + "," +
                phase("decode", "1E0", "1.5E0", 20, 3) + "," + phase("waiting", "1.5E0", "2E0", 30, 4) + "," +
                phase("preempted", "2E0", "2.5E0", 40, 5) + "]}]}");
  const auto missing = fake.Get("/v1/requests/none");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(
      missing.body,
      R"({"error":{"message":"no request 'none' is among the last 256 that ended of each loaded model; its id is )"
      R"(in the X-Request-Id of its answer","type":"invalid_request_error","param":"id","code":"not_found"}})");
}

TEST(RequestTimelinesTest, AKeySeesItsOwnRequestsAndAnAdministratorAll) {
  using keys::Scope;
  const server::ApiKeys keys({KeyOf("one", keys::kUsualScopes), KeyOf("two", keys::kUsualScopes),
                              KeyOf("admin", Scope::kRead | Scope::kAdmin)});
  FakeServer fake(Nothing, keys);
  fake.scheduler->past = std::make_unique<scheduler::RequestHistory>();
  fake.scheduler->past->Add(Ended("first", 1, FinishReason::kStop, keys.CheckKey("one", Scope::kRead)->account));
  fake.scheduler->past->Add(Ended("second", 2, FinishReason::kStop, keys.CheckKey("two", Scope::kRead)->account));
  EXPECT_EQ(Ids(fake.Get("/v1/requests", "Bearer one")), "fake:first ");
  EXPECT_EQ(Ids(fake.Get("/v1/requests", "Bearer two")), "fake:second ");
  EXPECT_EQ(Ids(fake.Get("/v1/requests", "Bearer admin")), "fake:second fake:first ");
  EXPECT_EQ(fake.Get("/v1/requests/first", "Bearer one").status, 200);
  EXPECT_EQ(fake.Get("/v1/requests/first", "Bearer two").status, 404);
  EXPECT_EQ(fake.Get("/v1/requests/first", "Bearer admin").status, 200);
}

}  // namespace
}  // namespace inferflux::testing
