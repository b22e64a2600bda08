// The rules by which a request is routed, and what the memory of the host is used for.
#include "server/admin/admin_routing.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

void NoAnswer(const GenerationRequest&, TokenStream&) {}

TEST(AdminRoutingTest, IsSetInParts) {
  FakeServer fake(NoAnswer);
  const auto set = [&](const std::string& body) {
    return *net::Client(net::ServerAddress{"127.0.0.1", fake.server->port(), ""})
                .Send({"PUT", "/v1/admin/routing", {}, body});
  };
  const auto rules = [](const char* fallback, const char* ready, const char* scope) {
    return fmt::format(R"({{"allow_default_fallback":{},"require_ready_backend":{},"fallback_scope":"{}"}})", fallback,
                       ready, scope);
  };
  EXPECT_EQ(fake.Get("/v1/admin/routing").body, rules("true", "true", "same_path_only"));
  EXPECT_EQ(set(R"({"allow_default_fallback":false})").body, rules("false", "true", "same_path_only"));
  EXPECT_EQ(set(R"({"require_ready_backend":false,"fallback_scope":"any_compatible"})").body,
            rules("false", "false", "any_compatible"));
  EXPECT_EQ(set("{}").body, rules("false", "false", "any_compatible"));
  EXPECT_EQ(set(R"({"fallback_scope":""})").body, rules("false", "false", "any_compatible"));
  for (const std::string& wrong : {std::string("any"), std::string(64, 'x')}) {
    const auto refused = set(R"({"allow_default_fallback":true,"fallback_scope":")" + wrong + "\"}");
    EXPECT_EQ(refused.status, 400);
    EXPECT_NE(refused.body.find("'fallback_scope' must be same_path_only or any_compatible"), std::string::npos)
        << refused.body;
  }
  EXPECT_EQ(set(R"({"fallback_scope":")" + std::string(65, 'x') + "\"}").body.find("must be same_path"),
            std::string::npos);
  EXPECT_EQ(set(R"({"require_ready_backend":1})").status, 400);
  EXPECT_EQ(fake.Get("/v1/admin/routing").body, rules("false", "false", "any_compatible")) << "nothing of them holds";
  EXPECT_EQ(set(R"({"fallback_scope":"same_path_only"})").body, rules("false", "false", "same_path_only"));
}

TEST(AdminStateTest, TheMemoryIsThatOfTheHostAndOfThePool) {
  FakeServer fake(NoAnswer, {}, {}, {.memory_budget = 12345});
  const boost::json::value memory = boost::json::parse(fake.Get("/v1/admin/memory").body);
  EXPECT_EQ(memory.at("object"), "memory");
  EXPECT_EQ(memory.at("budget_bytes"), 12345);
  EXPECT_EQ(memory.at("used_bytes"), 0);
  EXPECT_TRUE(memory.at("holders").as_array().empty());
  const int64_t total = memory.at("host").at("total_bytes").as_int64();
  const int64_t free = memory.at("host").at("free_bytes").as_int64();
  EXPECT_GE(free, 0);
  EXPECT_GT(total, free);
}

TEST(AdminStateTest, AServerWithoutAPoolHasNoWorkers) {
  FakeServer fake(NoAnswer);
  const std::string none =
      R"({"error":{"message":"this server runs its models itself; start it with --pool to have workers",)"
      R"("type":"invalid_request_error","param":null,"code":"no_pool"}})";
  for (const auto& answer :
       {fake.Get("/v1/admin/workers"), fake.Get("/v1/admin/workers/x/log"), fake.Post("/v1/admin/workers/x/drain", ""),
        fake.Post("/v1/admin/workers/x/restart", "")}) {
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.body, none);
  }
}

}  // namespace
}  // namespace inferflux::testing
