// Who may call what: every kind of access with every kind of key, over HTTP.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using keys::Scope;

constexpr char kChatBody[] = R"({"model":"fake","messages":[{"role":"user","content":"Hi"}]})";

void Hello(const GenerationRequest&, TokenStream& stream) { stream.Push(End(FinishReason::kStop, 1, 1)); }

keys::KeyLine OneKey(const std::string& key, keys::Scopes scopes) {
  keys::KeyLine out;
  out.hash = keys::HashOf(key);
  out.scopes = scopes;
  return out;
}

keys::Scopes Only(Scope scope) { return static_cast<keys::Scopes>(scope); }

server::ApiKeys KeyOfEachScope() {
  return server::ApiKeys({OneKey("read", Only(Scope::kRead)), OneKey("generate", Only(Scope::kGenerate)),
                          OneKey("admin", Only(Scope::kAdmin)), OneKey("load", Only(Scope::kLoad)),
                          OneKey("metrics", Only(Scope::kMetrics))});
}

TEST(AccessTest, EachPathNeedsTheKeyOfItsScope) {
  FakeServer fake(Hello, KeyOfEachScope());
  struct Case {
    const char* method;
    const char* path;
    const char* body;
    std::string may;  // the keys that may; "any": also without one
  };
  for (const Case& c :
       {Case{"GET", "/livez", "", "any"}, Case{"GET", "/readyz", "", "any"}, Case{"GET", "/version", "", "any"},
        Case{"GET", "/v1/models", "", "read"}, Case{"GET", "/v1/models/fake", "", "read"},
        Case{"GET", "/v1/requests", "", "read"}, Case{"GET", "/api/tags", "", "read"},
        Case{"GET", "/metrics", "", "read metrics"}, Case{"POST", "/v1/chat/completions", kChatBody, "generate"},
        Case{"POST", "/api/chat", kChatBody, "generate"}, Case{"GET", "/v1/files", "", "generate"},
        Case{"GET", "/v1/batches", "", "generate"}, Case{"GET", "/v1/admin/models", "", "admin"},
        Case{"GET", "/v1/admin/cache", "", "admin"}, Case{"GET", "/v1/admin/routing", "", "admin"}}) {
    for (const char* key : {"read", "generate", "admin", "load", "metrics", ""}) {
      const bool may = c.may == "any" || (key[0] != '\0' && c.may.find(key) != std::string::npos);
      const std::string authorization = key[0] == '\0' ? std::string() : std::string("Bearer ") + key;
      const auto answer = net::Client(net::ServerAddress{"127.0.0.1", fake.server->port(), ""})
                              .Send({c.method, c.path, {{"Authorization", authorization}}, c.body});
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer->status, may ? 200 : key[0] == '\0' ? 401 : 403) << c.method << " " << c.path << " " << key;
    }
  }
}

TEST(AccessTest, ARefusalHasTheShapeOfItsApi) {
  FakeServer fake(Hello, KeyOfEachScope());
  const auto openai = fake.Post("/v1/chat/completions", kChatBody, "Bearer read");
  EXPECT_EQ(openai.body,
            R"({"error":{"message":"the API key has not the scope 'generate'","type":"invalid_request_error",)"
            R"("param":null,"code":"insufficient_scope"}})");
  EXPECT_EQ(fake.Post("/api/chat", kChatBody, "Bearer read").body,
            R"({"error":"the API key has not the scope 'generate'"})");
  const auto unknown = fake.Post("/v1/chat/completions", kChatBody, "Bearer other");
  EXPECT_EQ(unknown.status, 401);
  EXPECT_EQ(net::FindHeader(unknown.headers, "WWW-Authenticate"), "Bearer");
  auto anthropic = boost::json::parse(fake.Post("/v1/messages", kChatBody, "Bearer read").body).as_object();
  EXPECT_EQ(anthropic.at("error").at("type"), "permission_error");
  EXPECT_EQ(anthropic.at("error").at("message"), "the API key has not the scope 'generate'");
}

TEST(AccessTest, AnthropicsClientsSendTheirKeyInAHeaderOfItsOwn) {
  FakeServer fake(Hello, KeyOfEachScope());
  const std::string body = R"({"model":"fake","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]})";
  using Headers = std::vector<net::Header>;
  EXPECT_EQ(fake.Post("/v1/messages", body, Headers{{"x-api-key", "generate"}}).status, 200);
  EXPECT_EQ(fake.Post("/v1/messages", body, Headers{{"x-api-key", "read"}}).status, 403);
  EXPECT_EQ(fake.Post("/v1/messages", body, Headers{{"Authorization", "Bearer generate"}}).status, 200);
  EXPECT_EQ(fake.Post("/v1/chat/completions", kChatBody, Headers{{"x-api-key", "generate"}}).status, 401)
      << "no header of that API";
}

TEST(AccessTest, AKeyIsToldItsScopes) {
  FakeServer fake(Hello, KeyOfEachScope());
  const auto names = [&](const char* authorization) {
    const auto told = boost::json::parse(fake.Get("/v1/key", authorization).body);
    std::string out = told.at("required").as_bool() ? "required" : "not required";
    for (const auto& scope : told.at("scopes").as_array()) out += " " + std::string(scope.at("name").as_string());
    return out;
  };
  for (const char* scope : {"read", "generate", "load", "metrics", "admin"}) {
    EXPECT_EQ(names((std::string("Bearer ") + scope).c_str()), std::string("required ") + scope);
  }
  EXPECT_EQ(fake.Get("/v1/key").status, 401);
  EXPECT_EQ(fake.Get("/v1/key", "Bearer other").status, 401);
}

TEST(AccessTest, ARequestMayLimitItsTime) {
  FakeServer fake(Hello);
  const auto ask = [&](const char* timeout) {
    return fake.Post("/v1/chat/completions", kChatBody, std::vector<net::Header>{{"X-Request-Timeout", timeout}});
  };
  for (const char* timeout : {"0.001", "5", "1.5", "86400"}) {
    const auto status = ask(timeout).status;
    EXPECT_TRUE(status == 200 || (status == 504 || status == 503)) << timeout << ": " << status;
  }
  EXPECT_EQ(ask("86400").status, 200);
  EXPECT_TRUE(fake.scheduler->requests().back().deadline.has_value());
  EXPECT_EQ(fake.Post("/v1/chat/completions", kChatBody).status, 200);
  EXPECT_FALSE(fake.scheduler->requests().back().deadline.has_value());
  for (const char* timeout : {"0.0009", "86401", "5s", "x", "-1", "nan"}) {
    const auto refused = ask(timeout);
    EXPECT_EQ(refused.status, 400) << timeout;
    EXPECT_NE(refused.body.find("must be a number of seconds from 0.001 to 86400"), std::string::npos) << refused.body;
  }
}

}  // namespace
}  // namespace inferflux::testing
