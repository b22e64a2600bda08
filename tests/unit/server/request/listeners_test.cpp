// What each listener serves, whom it lets in, and what it logs of an answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "base/log.h"
#include "net/raw_client.h"
#include "server/fake_model.h"
#include "server/routes.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHiChat[] = R"({"messages":[{"role":"user","content":"Hi"}]})";

void EndAtOnce(const GenerationRequest&, TokenStream& stream) { stream.Push(End(FinishReason::kStop, 1, 1)); }

net::ClientResponse Ask(uint16_t port, net::ClientRequest request) {
  const auto answer = net::Client(net::ServerAddress{"127.0.0.1", port, ""}).Send(request);
  EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().message);
  return answer ? *answer : net::ClientResponse();
}

keys::KeyLine KeyWith(const std::string& key, keys::Scopes scopes) {
  keys::KeyLine out;
  out.hash = keys::HashOf(key);
  out.scopes = scopes;
  return out;
}

server::SitePolicy Sites(std::string_view hosts, std::string_view origins) {
  return *server::SitePolicy::Parse(hosts, origins);
}

TEST(ListenersTest, AdministrationMayHaveAListenerOfItsOwn) {
  FakeServer fake(EndAtOnce);
  EXPECT_EQ(fake.server->admin_port(), 0);
  server::ApiOptions options;
  options.admin_net = net::ServerOptions();
  auto started = server::ApiServer::Start({}, fake.pool, fake.metrics, std::move(options));
  ASSERT_TRUE(started) << started.error().message;
  (*started)->SetReady();
  const uint16_t port = (*started)->port(), admin = (*started)->admin_port();
  EXPECT_NE(admin, 0);
  EXPECT_NE(admin, port);
  for (const char* path : {"/metrics", "/v1/admin/models", "/v1/admin/workers", "/v1/live"}) {
    EXPECT_EQ(Ask(port, {"OPTIONS", path, {}, {}}).status, 404) << path;
    EXPECT_NE(Ask(admin, {"OPTIONS", path, {}, {}}).status, 404) << path;
  }
  EXPECT_EQ(Ask(port, {"GET", "/metrics", {}, {}}).status, 404);
  EXPECT_EQ(Ask(port, {"GET", "/v1/admin/models", {}, {}}).status, 404);
  EXPECT_EQ(Ask(admin, {"GET", "/metrics", {}, {}}).status, 200);
  EXPECT_EQ(Ask(admin, {"GET", "/v1/admin/models", {}, {}}).status, 200);
  for (const uint16_t each : {port, admin}) {
    EXPECT_EQ(Ask(each, {"GET", "/v1/models", {}, {}}).status, 200);
    EXPECT_EQ(Ask(each, {"POST", "/v1/chat/completions", {}, kHiChat}).status, 200);
  }
}

TEST(ListenersTest, AListenerThatCannotBeginIsNamed) {
  FakeServer fake(EndAtOnce);
  server::ApiOptions options;
  options.admin_net = net::ServerOptions();
  options.admin_net->port = fake.server->port();
  const auto started = server::ApiServer::Start({}, fake.pool, fake.metrics, std::move(options));
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("the listener for administration"));
}

TEST(ListenersTest, KeysAreReplacedAndNeverSwitchedOff) {
  FakeServer fake(EndAtOnce);
  server::ApiOptions options;
  options.access.keys = server::ApiKeys({KeyWith("old", keys::kEveryScope)});
  auto started = server::ApiServer::Start({}, fake.pool, fake.metrics, std::move(options));
  ASSERT_TRUE(started);
  const auto status = [&](const std::string& key) {
    return Ask((*started)->port(), {"GET", "/v1/models", {{"Authorization", "Bearer " + key}}, {}}).status;
  };
  EXPECT_EQ(status("old"), 200);
  const Status open = (*started)->ReplaceAccess({});
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(open.error().message, "keys cannot be switched off while the server runs; restart it");
  EXPECT_EQ(status("old"), 200);
  ASSERT_TRUE((*started)->ReplaceAccess({.keys = server::ApiKeys({KeyWith("new", keys::kEveryScope)}), .sites = {}}));
  EXPECT_EQ(status("old"), 401);
  EXPECT_EQ(status("new"), 200);
  EXPECT_TRUE(fake.server->ReplaceAccess({})) << "it had none";
}

TEST(ListenersTest, MetricsAreOpenWhereTheyAreToBe) {
  FakeServer fake(EndAtOnce);
  for (const bool open : {true, false}) {
    server::ApiOptions options;
    options.access.keys = server::ApiKeys({KeyWith("key", keys::kEveryScope)});
    options.access.open_metrics = open;
    auto started = server::ApiServer::Start({}, fake.pool, fake.metrics, std::move(options));
    ASSERT_TRUE(started);
    EXPECT_EQ(Ask((*started)->port(), {"GET", "/metrics", {}, {}}).status, open ? 200 : 401);
    EXPECT_EQ(Ask((*started)->port(), {"GET", "/v1/models", {}, {}}).status, 401);
  }
}

// By name and by site, without keys and with them.
TEST(ListenersTest, WhoMayCallDependsOnItsNamesAndItsSite) {
  FakeServer fake(EndAtOnce);
  const std::string foreign = "https://other.example", listed = "https://chat.example";
  for (const bool keys : {false, true}) {
    server::ApiOptions options;
    options.access.sites = Sites("api.example", listed);
    if (keys) options.access.keys = server::ApiKeys({KeyWith("key", keys::kEveryScope)});
    auto started = server::ApiServer::Start({}, fake.pool, fake.metrics, std::move(options));
    ASSERT_TRUE(started);
    const auto status = [&](const std::string& path, const std::string& host, const std::string& origin) {
      std::vector<net::Header> headers = {{"Authorization", "Bearer key"}};
      if (!origin.empty()) headers.push_back({"Origin", origin});
      const bool chat = path == "/v1/chat/completions";
      const std::string body = chat ? kHiChat : "";
      std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
                                     chat ? "POST" : "GET", path, host, body.size());
      for (const net::Header& header : headers) head += header.name + ": " + header.value + "\r\n";
      RawClient client((*started)->port());
      client.Send(head + "\r\n" + body);
      const std::string line = client.ReadUntil("\r\n");
      return line.size() > 12 ? line.substr(9, 3) : line;
    };
    for (const char* path : {"/v1/chat/completions", "/v1/models", "/v1/admin/models"}) {
      EXPECT_EQ(status(path, "127.0.0.1", ""), "200") << path;
      EXPECT_EQ(status(path, "api.example:80", ""), "200") << path;
      EXPECT_EQ(status(path, "evil.example", ""), "403") << path;
      EXPECT_EQ(status(path, "127.0.0.1", listed), "200") << path;
    }
    EXPECT_EQ(status("/metrics", "evil.example", ""), "200") << "a scraper calls by any name";
    EXPECT_EQ(status("/livez", "evil.example", foreign), "200");
    EXPECT_EQ(status("/v1/chat/completions", "127.0.0.1", foreign), keys ? "200" : "403");
    EXPECT_EQ(status("/v1/admin/models", "127.0.0.1", foreign), "403");
    EXPECT_EQ(status("/v1/models", "127.0.0.1", foreign), "200") << "its answer is not readable there";
  }
}

TEST(ListenersTest, APageOfAnotherSiteLoadsNoModels) {
  FakeServer fake(EndAtOnce, server::ApiKeys({KeyWith("key", keys::kEveryScope)}));
  serving::LoadRequest request;
  request.id = "offered";
  request.path = "/none/offered.gguf";
  fake.pool.Offer(request);
  const std::string chat = R"({"model":"offered","messages":[{"role":"user","content":"Hi"}]})";
  const auto ask = [&](const char* origin) {
    return Ask(fake.server->port(),
               {"POST", "/v1/chat/completions", {{"Authorization", "Bearer key"}, {"Origin", origin}}, chat});
  };
  const auto refused = ask("https://other.example");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("to load it on first use takes a key with the scope 'load' or 'admin'"));
  EXPECT_THAT(refused.body, HasSubstr("\"code\":\"insufficient_scope\""));
  EXPECT_TRUE(fake.pool.Failed().empty());
  const auto own = ask("");
  EXPECT_NE(own.status, 403);
  EXPECT_EQ(fake.pool.Failed().size(), 1u) << "it was tried";
}

TEST(ListenersTest, ARefusalHasTheShapeOfThePathItIsAt) {
  const auto at = [](std::string_view target) { return server::RefusalAt(target, server::FromStatus(404, "no")).body; };
  const std::string openai =
      R"({"error":{"message":"no","type":"invalid_request_error","param":null,"code":"unknown_url"}})";
  for (const char* path : {"", "/", "/x", "/v1", "/v1/nothing", "/v1/message", "/v1/models/x", "/v1/responses/x"})
    EXPECT_EQ(at(path), openai) << path;
  for (const char* path : {"/api/chat", "/api/nothing", "/api/"}) EXPECT_EQ(at(path), R"({"error":"no"})") << path;
  for (const char* path : {"/v1/messages", "/v1/messages/count_tokens", "/v1/messages?x=1"})
    EXPECT_THAT(at(path), HasSubstr(R"("type":"error")")) << path;
}

TEST(ListenersTest, APreflightIsAnsweredWhereThereIsAPath) {
  FakeServer fake(EndAtOnce);
  server::ApiOptions options;
  options.access.sites = Sites("", "https://chat.example");
  auto started = server::ApiServer::Start({}, fake.pool, fake.metrics, std::move(options));
  ASSERT_TRUE(started);
  const auto ask = [&](const char* path, const char* origin) {
    return Ask((*started)->port(),
               {"OPTIONS", path, {{"Origin", origin}, {"Access-Control-Request-Method", "POST"}}, {}});
  };
  const auto taken = ask("/v1/chat/completions", "https://chat.example");
  EXPECT_EQ(taken.status, 204);
  EXPECT_EQ(net::FindHeader(taken.headers, "Access-Control-Allow-Origin"), "https://chat.example");
  EXPECT_EQ(ask("/v1/chat/completions", "https://other.example").status, 403);
  EXPECT_EQ(ask("/api/chat", "https://other.example").body.substr(0, 10), R"({"error":")") << "in its API's shape";
  EXPECT_EQ(ask("/v1/nothing", "https://chat.example").status, 404);
}

class AnswerLogTest : public ::testing::Test {
 protected:
  ~AnswerLogTest() override {
    log::SetLevel(log::Level::kInfo);
    log::SetFormat(*log::ParseFormat("text"));
  }
  // What is logged at this level of one call. The server has ended then, so all is.
  static std::string LogOf(log::Level level, net::ClientRequest request) {
    ::testing::internal::CaptureStderr();
    log::SetLevel(level);
    log::SetFormat(*log::ParseFormat("json"));
    {
      FakeServer fake(EndAtOnce, server::ApiKeys({KeyWith("key", keys::kEveryScope)}));
      request.headers.push_back({"X-Request-Id", "mine"});
      request.headers.push_back({"Authorization", "Bearer key"});
      Ask(fake.server->port(), std::move(request));
    }
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(AnswerLogTest, ACallIsOneLine) {
  const std::string log = LogOf(log::Level::kInfo, {"POST", "/v1/chat/completions", {}, kHiChat});
  EXPECT_THAT(log, HasSubstr(R"("request_id":"mine")"));
  EXPECT_THAT(log, HasSubstr(R"("method":"POST")"));
  EXPECT_THAT(log, HasSubstr(R"("path":"/v1/chat/completions")"));
  EXPECT_THAT(log, HasSubstr(R"("status":200,"complete":true,"ms":)"));
  EXPECT_THAT(log, HasSubstr(R"("peer":"127.0.0.1)"));
  EXPECT_THAT(log, HasSubstr(R"("key":")"));
}

TEST_F(AnswerLogTest, ProbesAreLoggedOnlyForDebugging) {
  for (const char* path : {"/healthz", "/readyz", "/health", "/metrics"}) {
    EXPECT_THAT(LogOf(log::Level::kInfo, {"GET", path, {}, {}}), Not(HasSubstr("\"path\""))) << path;
    EXPECT_THAT(LogOf(log::Level::kDebug, {"GET", path, {}, {}}), HasSubstr(fmt::format("\"path\":\"{}\"", path)));
  }
  EXPECT_THAT(LogOf(log::Level::kInfo, {"GET", "/livez", {}, {}}), HasSubstr("\"path\":\"/livez\""));
}

TEST_F(AnswerLogTest, WhatAClientSentIsCutAt512Bytes) {
  const std::string whole = "/" + std::string(511, 'x'), longer = whole + "y";
  EXPECT_THAT(LogOf(log::Level::kInfo, {"GET", whole, {}, {}}), HasSubstr("\"path\":\"" + whole + "\""));
  EXPECT_THAT(LogOf(log::Level::kInfo, {"GET", longer, {}, {}}), HasSubstr("\"path\":\"" + whole + "...\""));
}

}  // namespace
}  // namespace inferflux::testing
