// Requests for models that do not serve: what each state of a model answers, over HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

using ::testing::HasSubstr;

// "STATUS TYPE PARAM CODE", and the message.
std::pair<std::string, std::string> ErrorIn(const net::ClientResponse& answer) {
  const boost::json::value error = boost::json::parse(answer.body).at("error");
  const auto text = [&](const char* name) {
    return error.at(name).is_null() ? std::string("-") : std::string(error.at(name).as_string());
  };
  return {fmt::format("{} {} {} {}", answer.status, text("type"), text("param"), text("code")), text("message")};
}

std::string ChatWith(const std::string& model) {
  return R"({"model":")" + model + R"(","messages":[{"role":"user","content":"Hi"}]})";
}

serving::LoadRequest LoadOf(const std::string& id, const std::string& path) {
  serving::LoadRequest out;
  out.id = id;
  out.path = path;
  return out;
}

TEST(FirstUseTest, EachStateOfAModelHasItsAnswer) {
  FakeServer fake([](const GenerationRequest&, TokenStream&) {}, {},
                  [](serving::ServedModel& model) { model.capabilities.embeddings = false; });
  const auto ask = [&](const std::string& model) {
    return ErrorIn(fake.Post("/v1/chat/completions", ChatWith(model)));
  };
  EXPECT_EQ(ask("other").first, "404 invalid_request_error model model_not_found");
  EXPECT_EQ(ErrorIn(fake.Post("/v1/embeddings", R"({"model":"fake","input":"a"})")).first,
            "422 invalid_request_error model missing_capability");
  fake.pool.RecordFailure(LoadOf("broken", "/none/broken.gguf"), Error{ErrorCode::kIo, "the disk is gone"});
  const auto [broken, why] = ask("broken");
  EXPECT_EQ(broken, "500 server_error model model_load_failed") << why;
  fake.pool.Offer(LoadOf("missing", "/none/missing.gguf"));
  const auto [missing, path] = ask("missing");
  EXPECT_EQ(missing, "404 invalid_request_error model model_not_found") << path;
  fake.pool.Offer(LoadOf("text", std::string(INFERFLUX_SOURCE_DIR) + "/README.md"));
  const auto [text, reason] = ask("text");
  EXPECT_EQ(text, "500 server_error model model_load_failed") << reason;
  EXPECT_THAT(reason, HasSubstr("the model 'text' failed to load: "));
}

TEST(FirstUseTest, BeforeAServerIsReadyItsModelsAreComing) {
  metrics::Registry metrics;
  const serving::BackendFactory factory{{}, {}};
  serving::ModelPool pool(factory, metrics, {});
  auto server = server::ApiServer::Start({}, pool, metrics);
  ASSERT_TRUE(server) << server.error().message;
  const net::Client client(net::ServerAddress{"127.0.0.1", (*server)->port(), ""});
  const auto ask = [&](const char* path, const std::string& body) {
    return *client.Send({body.empty() ? "GET" : "POST", path, {}, body});
  };
  const auto [early, message] = ErrorIn(ask("/v1/chat/completions", ChatWith("m")));
  EXPECT_EQ(early, "503 service_unavailable_error - unavailable");
  EXPECT_EQ(message, "the models are still being loaded; see /readyz");
  const auto health = ask("/health", "");
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.body, R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})");
  EXPECT_EQ(net::FindHeader(health.headers, "Retry-After"), "1");
  (*server)->SetReady();
  EXPECT_EQ(ErrorIn(ask("/v1/chat/completions", ChatWith("m"))).first, "503 service_unavailable_error - unavailable")
      << "no model serves at all";
  EXPECT_EQ(ErrorIn(ask("/v1/chat/completions", R"({"messages":[{"role":"user","content":"Hi"}]})")).first,
            "503 service_unavailable_error - unavailable")
      << "there is no default";
  EXPECT_EQ(ask("/health", "").body, R"({"status":"ok"})");
  pool.Offer(LoadOf("offered", "/none/offered.gguf"));
  EXPECT_EQ(ask("/slots?model=offered", "").body, "[]") << "it runs nothing, and can be loaded";
  EXPECT_EQ(ask("/slots?model=other", "").status, 503);
  EXPECT_TRUE(pool.Failed().empty()) << "a look loads nothing";
}

TEST(FirstUseTest, SlotsAreAsManyAsRun) {
  FakeServer fake([](const GenerationRequest&, TokenStream&) {});
  fake.scheduler->figures.running = 2;
  EXPECT_EQ(fake.Get("/slots").body,
            R"([{"id":0,"n_ctx":1000,"is_processing":true},{"id":1,"n_ctx":1000,"is_processing":true}])");
}

TEST(FirstUseTest, ThePageIsServedWhereItIsSwitchedOn) {
  FakeServer fake([](const GenerationRequest&, TokenStream&) {});
  server::ApiOptions options;
  options.page = false;
  auto server = server::ApiServer::Start({}, fake.pool, fake.metrics, std::move(options));
  ASSERT_TRUE(server);
  const auto off = net::Client(net::ServerAddress{"127.0.0.1", (*server)->port(), ""}).Send({"GET", "/"});
  EXPECT_EQ(off->status, 404);
  EXPECT_THAT(off->body, HasSubstr("the page is switched off (server.page)"));
  const auto plain = fake.Get("/");
  if (plain.status == 404) {
    EXPECT_THAT(plain.body, HasSubstr("this build has no page: its JavaScript libraries were not found"));
    return;
  }
  EXPECT_EQ(net::FindHeader(plain.headers, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(net::FindHeader(plain.headers, "Content-Encoding"), "");
  EXPECT_EQ(net::FindHeader(plain.headers, "Vary"), "Accept-Encoding");
  EXPECT_EQ(net::FindHeader(plain.headers, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(net::FindHeader(plain.headers, "Referrer-Policy"), "no-referrer");
  EXPECT_EQ(net::FindHeader(plain.headers, "Cache-Control"), "no-cache");
  EXPECT_NE(net::FindHeader(plain.headers, "Content-Security-Policy"), "");
  const auto packed = net::Client(net::ServerAddress{"127.0.0.1", fake.server->port(), ""})
                          .Send({"GET", "/", {{"Accept-Encoding", "br, gzip"}}, {}});
  EXPECT_EQ(net::FindHeader(packed->headers, "Content-Encoding"), "gzip");
  EXPECT_EQ(packed->body.substr(0, 2), "\x1f\x8b");
  EXPECT_LT(packed->body.size(), plain.body.size());
}

}  // namespace
}  // namespace inferflux::testing
