// Models by an administrator: those that load and failed, how long one stays, and how long an unload waits.
#include "server/admin/admin_models.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

namespace json = boost::json;

class AdminModelsTest : public ::testing::Test {
 protected:
  std::string ErrorOf(const net::ClientResponse& answer) {
    const json::value error = json::parse(answer.body).at("error");
    return fmt::format("{} {} {}: {}", answer.status,
                       error.at("param").is_null() ? "" : std::string(error.at("param").as_string()),
                       error.at("code").is_null() ? "" : std::string(error.at("code").as_string()),
                       std::string(error.at("message").as_string()));
  }
  net::ClientResponse Send(const char* method, const std::string& target, std::string body) {
    return *net::Client(net::ServerAddress{"127.0.0.1", fake_.server->port(), ""})
                .Send({method, target, {}, std::move(body)});
  }
  net::ClientResponse Patch(const std::string& target, std::string body) {
    return Send("PATCH", target, std::move(body));
  }

  FakeServer fake_{[](const GenerationRequest&, TokenStream&) {}};
};

TEST_F(AdminModelsTest, AModelThatFailedIsListedWithItsReason) {
  serving::LoadRequest request;
  request.id = "broken";
  request.path = "/none/broken.gguf";
  request.requested_backend = "cpu,cuda";
  fake_.pool.RecordFailure(request, Error{ErrorCode::kIo, "the file is missing"});
  const json::value models = json::parse(fake_.Get("/v1/admin/models").body);
  EXPECT_EQ(models.at("object"), "list");
  ASSERT_EQ(models.at("data").as_array().size(), 2u);
  EXPECT_EQ(json::serialize(models.at("data").at(1)),
            R"({"id":"broken","path":"/none/broken.gguf","state":"failed","requested_backend":"cpu,cuda",)"
            R"("error":"the file is missing"})");
  const json::value& loaded = models.at("data").at(0);
  EXPECT_EQ(loaded.at("state"), "ready");
  EXPECT_EQ(loaded.at("default"), true);
  EXPECT_EQ(loaded.at("pinned"), true);
  EXPECT_EQ(loaded.at("keep_alive"), -1);
  EXPECT_EQ(loaded.at("pool_bytes"), 0);
  EXPECT_EQ(loaded.at("running"), 0);
  EXPECT_EQ(loaded.at("queued"), 0);
}

TEST_F(AdminModelsTest, HowLongAModelStaysIsSetInParts) {
  const json::value kept = json::parse(Patch("/v1/admin/models/fake", R"({"keep_alive":60})").body);
  EXPECT_EQ(kept.at("keep_alive"), 60);
  EXPECT_EQ(kept.at("pinned"), true);
  EXPECT_EQ(kept.at("id"), "fake");
  EXPECT_EQ(kept.at("state"), "ready");
  const json::value let = json::parse(Patch("/v1/admin/models/fake", R"({"pin":false})").body);
  EXPECT_EQ(let.at("keep_alive"), 60);
  EXPECT_EQ(let.at("pinned"), false);
  const json::value stays = json::parse(Patch("/v1/admin/models/fake", R"({"keep_alive":-1,"pin":true})").body);
  EXPECT_EQ(stays.at("keep_alive"), -1);
  EXPECT_EQ(stays.at("pinned"), true);
  EXPECT_EQ(json::parse(Patch("/v1/admin/models/fake", "{}").body), stays);
  EXPECT_EQ(ErrorOf(Patch("/v1/admin/models/fake", R"({"pin":1})")),
            "400 pin invalid_value: 'pin' must be true or false");
  EXPECT_EQ(Patch("/v1/admin/models/fake", R"({"keep_alive":-2})").status, 400);
  EXPECT_EQ(Patch("/v1/admin/models/fake", R"({"keep_alive":1e12})").status, 400);
  EXPECT_EQ(Patch("/v1/admin/models/fake", R"({"pinned":true})").status, 400);
  EXPECT_EQ(Patch("/v1/admin/models/fake", "[]").status, 400);
  EXPECT_EQ(ErrorOf(Patch("/v1/admin/models/other", "{}")).substr(0, 26), "404 model model_not_found:");
}

TEST_F(AdminModelsTest, TheDefaultIsOneThatIsLoaded) {
  const auto set = [&](const std::string& id) {
    return Send("PUT", "/v1/admin/models/default", R"({"id":")" + id + "\"}");
  };
  EXPECT_EQ(set("fake").body, R"({"default":"fake"})");
  EXPECT_EQ(ErrorOf(set("other")).substr(0, 26), "404 model model_not_found:");
  EXPECT_EQ(set(std::string(256, 'x')).status, 404);
  EXPECT_EQ(set(std::string(257, 'x')).status, 400);
}

TEST_F(AdminModelsTest, AnUnloadWaitsAsLongAsItIsTold) {
  for (const char* wrong : {"-1", "3601", "5x", "", "x"}) {
    EXPECT_EQ(ErrorOf(fake_.Delete(std::string("/v1/admin/models/fake?grace_seconds=") + wrong)),
              "400 grace_seconds invalid_value: 'grace_seconds' must be an integer from 0 to 3600")
        << wrong;
  }
  EXPECT_EQ(ErrorOf(fake_.Delete("/v1/admin/models/other?grace_seconds=0")).substr(0, 26),
            "404 model model_not_found:");
  EXPECT_EQ(fake_.Delete("/v1/admin/models/other?grace_seconds=3600").status, 404);
  EXPECT_EQ(fake_.Delete("/v1/admin/models/fake?grace_seconds=0").body,
            R"({"id":"fake","deleted":true,"default":null})");
  EXPECT_EQ(fake_.Delete("/v1/admin/models/fake").status, 404);
}

TEST_F(AdminModelsTest, ALoadThatFailsIsTheLastEventOfItsStream) {
  const std::string no_model = std::string(INFERFLUX_SOURCE_DIR) + "/README.md";
  for (const std::string& path : {std::string("/none/missing.gguf"), no_model}) {
    const std::string body = R"({"path":")" + path + R"(","id":"m")";
    const auto whole = fake_.Post("/v1/admin/models", body + "}");
    EXPECT_EQ(whole.status, path == no_model ? 400 : 404) << whole.body;
    EXPECT_EQ(ErrorOf(whole).substr(4, 10), path == no_model ? "path inval" : "path not_f");
    const auto streamed = fake_.Post("/v1/admin/models", body + R"(,"stream":true})");
    EXPECT_EQ(streamed.status, 200);
    EXPECT_EQ(net::FindHeader(streamed.headers, "Content-Type"), "text/event-stream");
    const std::string end = "data: " + whole.body + "\n\ndata: [DONE]\n\n";
    ASSERT_GE(streamed.body.size(), end.size()) << streamed.body;
    EXPECT_EQ(streamed.body.substr(streamed.body.size() - end.size()), end);
  }
}

}  // namespace
}  // namespace inferflux::testing
