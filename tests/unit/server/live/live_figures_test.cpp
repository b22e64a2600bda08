// GET /v1/live and the administrator's figures: every number from where it comes.
#include "server/live/live_figures.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>

#include "metrics/model_metrics.h"
#include "net/raw_client.h"
#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

void Answer(const GenerationRequest&, TokenStream& stream) {
  StreamEvent last = End(FinishReason::kStop, 9, 5, 4);
  last.finish->usage.drafted_tokens = 3;
  last.finish->usage.accepted_tokens = 2;
  stream.Push(std::move(last));
}

scheduler::SchedulerStats Figures(int base) {
  scheduler::SchedulerStats out;
  out.queued = base + 1;
  out.running = base + 2;
  out.kv_blocks_used = base + 3;
  out.kv_blocks_free = 2 * base + 40;
  out.kv_blocks_cached = base + 5;
  out.preemptions = base + 6;
  out.drafted_tokens = base + 7;
  out.accepted_tokens = base + 8;
  out.graphs = base + 9;
  out.graph_replays = base + 10;
  out.graph_refusals = base + 11;
  out.retry_after_seconds = base + 12;
  return out;
}

// A model beside the first one.
std::shared_ptr<serving::ServedModel> Second() {
  auto out = std::make_shared<serving::ServedModel>();
  const auto scheduler = std::make_shared<FakeScheduler>(Answer);
  scheduler->figures = Figures(100);
  out->id = "second";
  out->exposure.exposed_backend = "cuda";
  out->exposure.provider = "native";
  out->info.kv_dtype = "f16";
  out->info.kv_tokens = 64;
  out->scheduler = scheduler;
  return out;
}

TEST(LiveFiguresTest, EachEventHasTheFiguresOfAllModels) {
  FakeServer fake(Answer);
  fake.scheduler->figures = Figures(0);
  ASSERT_TRUE(fake.pool.Add(Second()));
  const metrics::ModelMetrics one(fake.metrics, "fake", "cpu"), two(fake.metrics, "second", "cuda");
  for (const auto& [counted, scale] : {std::pair(&one, 1), std::pair(&two, 10)}) {
    counted->prompt_tokens.Add(scale * 7);
    counted->cached_tokens.Add(scale * 6);
    counted->generated_tokens.Add(scale * 5);
    counted->drafted_tokens.Add(scale * 4);
    counted->accepted_tokens.Add(scale * 3);
    counted->time_to_first.Observe(0.03);
    counted->inter_token.Observe(0.0015);
    counted->inter_token.Observe(1000);
  }
  RawClient client(fake.server->port());
  client.Send("GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string head = client.ReadUntil("\r\n\r\n");
  EXPECT_NE(head.find("text/event-stream; charset=utf-8"), std::string::npos) << head;
  EXPECT_NE(head.find("Cache-Control: no-cache"), std::string::npos) << head;
  EXPECT_NE(head.find("X-Accel-Buffering: no"), std::string::npos) << head;
  for (int events = 0; events < 2; ++events) {
    client.ReadUntil("data: ");
    auto figures = boost::json::parse(client.ReadUntil("\n\n")).as_object();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    EXPECT_NEAR(figures.at("at").to_number<double>(),
                static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()), 60'000);
    figures.erase("at");
    EXPECT_EQ(boost::json::serialize(figures.at("time_to_first_token")),
              "[[1E-3,0],[2E-3,0],[5E-3,0],[1E-2,0],[2E-2,0],[5E-2,2],[1E-1,2],[2E-1,2],[5E-1,2],[1E0,2],[2E0,2],"
              "[5E0,2],[1E1,2],[2E1,2],[3E1,2],[6E1,2],[null,2]]");
    figures.erase("time_to_first_token");
    EXPECT_EQ(boost::json::serialize(figures.at("inter_token_latency")),
              "[[1E-3,0],[2E-3,2],[5E-3,2],[1E-2,2],[2E-2,2],[5E-2,2],[1E-1,2],[2E-1,2],[5E-1,2],[1E0,2],[2E0,2],"
              "[5E0,2],[1E1,2],[2E1,2],[3E1,2],[6E1,2],[null,4]]");
    figures.erase("inter_token_latency");
    EXPECT_EQ(boost::json::value(figures),
              boost::json::parse(
                  R"({"ready":true,"prompt_tokens":7.7E1,"cached_tokens":6.6E1,"completion_tokens":5.5E1,)"
                  R"("drafted_tokens":4.4E1,"accepted_tokens":3.3E1,"running":104,"waiting":102,"preemptions":112,)"
                  R"("kv_blocks":{"used":106,"cached":110,"free":170},)"
                  R"("models":[{"id":"fake","backend":"cpu","running":2,"waiting":1},)"
                  R"({"id":"second","backend":"cuda","running":102,"waiting":101}],"pooled":false,"workers":[]})"));
  }
}

TEST(LiveFiguresTest, TheAdministratorSeesTheFiguresOfEachModel) {
  FakeServer fake(Answer);
  fake.scheduler->figures = Figures(0);
  ASSERT_TRUE(fake.pool.Add(Second()));
  EXPECT_EQ(fake.Get("/v1/admin/pools").body,
            R"({"object":"list","data":[{"model":"fake","backend":"cpu","provider":"","running":2,"queued":1,)"
            R"("drafted_tokens":7,"accepted_tokens":8,"graphs":{"captured":9,"replays":10,"refusals":11},)"
            R"("retry_after_seconds":12},{"model":"second","backend":"cuda","provider":"native","running":102,)"
            R"("queued":101,"drafted_tokens":107,"accepted_tokens":108,)"
            R"("graphs":{"captured":109,"replays":110,"refusals":111},"retry_after_seconds":112}]})");
  EXPECT_EQ(fake.Get("/v1/admin/cache").body,
            R"({"object":"list","data":[{"model":"fake","backend":"cpu","kv_dtype":"","kv_tokens":0,"blocks_used":3,)"
            R"("blocks_free":40,"blocks_cached":5,"preemptions":6},{"model":"second","backend":"cuda",)"
            R"("kv_dtype":"f16","kv_tokens":64,"blocks_used":103,"blocks_free":240,"blocks_cached":105,)"
            R"("preemptions":106}]})");
  EXPECT_EQ(fake.Get("/healthz").body,
            R"({"status":"ok","models":[{"id":"fake","backend":"cpu","queued":1,"running":2},)"
            R"({"id":"second","backend":"cuda","queued":101,"running":102}]})");
}

}  // namespace
}  // namespace inferflux::testing
