// What the probes say while a server loads, serves, has no model, and stops.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "net/raw_client.h"
#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

serving::LoadRequest ModelNamed(const std::string& id) {
  serving::LoadRequest out;
  out.id = id;
  out.path = "/none/" + id + ".gguf";
  return out;
}

// A server without a model, which is not ready yet.
class BareServer {
 public:
  BareServer() : pool(factory, metrics, {}) {
    auto started = server::ApiServer::Start({}, pool, metrics);
    EXPECT_TRUE(started.has_value()) << (started ? "" : started.error().message);
    server = std::move(*started);
  }
  net::ClientResponse Get(const std::string& target) {
    const auto response =
        net::Client(net::ServerAddress{"127.0.0.1", server->port(), ""}).Send({"GET", target, {}, {}});
    EXPECT_TRUE(response.has_value()) << (response ? "" : response.error().message);
    return response ? *response : net::ClientResponse();
  }
  // The status, the body, and how soon to come again.
  std::string Readyz() {
    const auto answer = Get("/readyz");
    return fmt::format("{} {}{}", answer.status, answer.body, net::FindHeader(answer.headers, "Retry-After"));
  }

  metrics::Registry metrics;
  serving::BackendFactory factory{{}, {}};
  serving::ModelPool pool;
  std::unique_ptr<server::ApiServer> server;
};

TEST(HealthTest, AServerIsNotReadyWhileItLoads) {
  BareServer bare;
  EXPECT_EQ(bare.Readyz(), "503 loading models\n1");
  EXPECT_EQ(bare.Get("/healthz").body, R"({"status":"loading","models":[]})");
  EXPECT_EQ(bare.Get("/livez").body, "ok\n");
  bare.server->SetReady();
  EXPECT_EQ(bare.Get("/healthz").body, R"({"status":"ok","models":[]})");
}

TEST(HealthTest, AServerWithoutAModelSaysWhyAndWhetherOneCanBeLoaded) {
  BareServer bare;
  bare.server->SetReady();
  EXPECT_EQ(bare.Readyz(), "503 no model is loaded, and none can be\n");
  bare.pool.RecordFailure(ModelNamed("broken"), Error{ErrorCode::kIo, "/none/broken.gguf is missing"});
  EXPECT_EQ(bare.Readyz(), "503 no model is loaded:\nbroken failed to load\n") << "and no path";
  bare.pool.RecordFailure(ModelNamed("worse"), Error{ErrorCode::kIo, "x"});
  EXPECT_EQ(bare.Readyz(), "503 no model is loaded:\nbroken failed to load\nworse failed to load\n");
  bare.pool.Offer(ModelNamed("offered"));
  EXPECT_EQ(bare.Readyz(),
            "200 ready\nno model is loaded; the first request for one loads it\nfailed to load: broken\n"
            "failed to load: worse\n");
}

TEST(HealthTest, AModelThatWasUnloadedIsNamed) {
  FakeServer fake([](const GenerationRequest&, TokenStream&) {});
  EXPECT_EQ(fake.Get("/readyz").body, "ready\n");
  fake.pool.Offer(ModelNamed("fake"));
  ASSERT_TRUE(fake.pool.Unload("fake", std::chrono::milliseconds(1000)));
  const auto answer = fake.Get("/readyz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body,
            "no model is loaded:\nfake was unloaded; load it with POST /v1/admin/models or `inferctl admin load`, or "
            "name it in a request\n");
  EXPECT_EQ(net::FindHeader(answer.headers, "Retry-After"), "");
}

TEST(HealthTest, AServerThatHasAModelSaysWhatOthersFailed) {
  FakeServer fake([](const GenerationRequest&, TokenStream&) {});
  fake.scheduler->figures.queued = 3;
  fake.scheduler->figures.running = 2;
  fake.pool.RecordFailure(ModelNamed("broken"), Error{ErrorCode::kIo, "x"});
  EXPECT_EQ(fake.Get("/readyz").body, "ready\nfailed to load: broken\n");
  EXPECT_EQ(fake.Get("/healthz").body,
            R"({"status":"ok","models":[{"id":"fake","backend":"cpu","queued":3,"running":2}]})");
}

// A generation is under way when the server is stopped: it keeps the port open for the probes meanwhile.
TEST(HealthTest, AServerThatStopsTakesNoMoreAndEndsItsFeeds) {
  std::atomic<bool> began = false, go = false;
  FakeServer fake([&](const GenerationRequest&, TokenStream& stream) {
    began = true;
    while (!go && !stream.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stream.Push(End(FinishReason::kStop, 1, 1));
  });
  const std::string chat = R"({"messages":[{"role":"user","content":"Hi"}]})";
  std::atomic<bool> feeds = false;
  std::thread reader([&] {
    const net::Client to(net::ServerAddress{"127.0.0.1", fake.server->port(), ""});
    EXPECT_TRUE(to.Stream({"GET", "/v1/live"}, [&](std::string_view) { feeds = true; })) << "it ends as a whole answer";
  });
  std::thread client([&] { EXPECT_EQ(fake.Post("/v1/chat/completions", chat).status, 200); });
  while (!began || !feeds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::thread stops([&] { fake.server->Stop(std::chrono::seconds(60)); });
  net::ClientResponse ready = fake.Get("/readyz");
  while (ready.status == 200) ready = fake.Get("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.body, "draining: the server is stopping\n");
  reader.join();
  for (const char* path : {"/v1/chat/completions", "/v1/completions", "/api/chat", "/v1/embeddings"}) {
    const auto refused = fake.Post(path, chat);
    EXPECT_EQ(refused.status, 503) << path;
    EXPECT_NE(refused.body.find("the server is stopping"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(fake.Get("/v1/models").status, 200);
  EXPECT_EQ(fake.Get("/livez").status, 200);
  EXPECT_EQ(fake.Get("/metrics").body.find("inferflux_cut_generations_total"), std::string::npos);
  go = true;
  client.join();
  stops.join();
}

TEST(HealthTest, WhatDoesNotEndInTimeIsCutAndCounted) {
  std::atomic<bool> began = false;
  FakeServer fake([&](const GenerationRequest&, TokenStream& stream) {
    began = true;
    while (!stream.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stream.Push(End(FinishReason::kCancelled, 1, 1));
  });
  const std::string chat = R"({"messages":[{"role":"user","content":"Hi"}]})";
  RawClient client(fake.server->port());
  client.Send(fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                          chat.size(), chat));
  while (!began) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fake.server->Stop(std::chrono::milliseconds(1));
  auto another = server::ApiServer::Start({}, fake.pool, fake.metrics);
  ASSERT_TRUE(another) << another.error().message;
  const auto metrics = net::Client(net::ServerAddress{"127.0.0.1", (*another)->port(), ""}).Send({"GET", "/metrics"});
  ASSERT_TRUE(metrics);
  EXPECT_NE(metrics->body.find("inferflux_cut_generations_total 1\n"), std::string::npos) << metrics->body;
}

}  // namespace
}  // namespace inferflux::testing
