// A server that ends while other threads still work for it. Each of these tests guards against a use after free, which
// the address sanitizer detects.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/fake_model.h"

namespace inferflux::testing {
namespace {

constexpr char kHelloChat[] = R"({"messages":[{"role":"user","content":"Hi"}]})";

void Greet(const GenerationRequest&, TokenStream& stream) {
  stream.Push(Piece("Hello"));
  stream.Push(End(FinishReason::kStop, 1, 1));
}

// The thread that prepared the request releases the server's executor when the client may already have its answer.
TEST(ShutdownTest, RightAfterAnAnswer) {
  for (int i = 0; i < 100; ++i) {
    FakeServer fake(Greet);
    EXPECT_EQ(fake.Post("/v1/chat/completions", kHelloChat).status, 200);
  }
}

TEST(ShutdownTest, WhileAPromptIsPrepared) {
  FakeServer fake(Greet, {}, [](serving::ServedModel& model) {
    auto slow =
        text::ChatTemplate::Compile("{% for a in range(1000) %}{% for b in range(100) %}{% endfor %}{% endfor %}");
    ASSERT_TRUE(slow.has_value()) << slow.error().message;
    model.chat_template = std::make_shared<const text::ChatTemplate>(std::move(*slow));
  });
  auto server = server::ApiServer::Start({.abort_time = std::chrono::milliseconds(1)}, fake.pool, fake.metrics);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  (*server)->SetReady();
  std::thread client([port = (*server)->port()] {
    const net::Client to(net::ServerAddress{"127.0.0.1", port, ""});
    (void)to.Send({"POST", "/v1/chat/completions", {}, kHelloChat});  // cut off, or answered if this thread is slow
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // it has begun, and has not ended
  server->reset();
  client.join();
}

// A scheduler that answers after all readers have gone.
class LateScheduler final : public scheduler::GenerationService {
 public:
  Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest) override { return std::make_shared<TokenStream>(); }
  void Session(scheduler::SessionCommand, scheduler::SessionReply reply) override {
    std::lock_guard lock(mutex_);
    reply_ = std::move(reply);
    asked_.notify_all();
  }
  void Drain(bool) override {}
  void Stop() override {}
  scheduler::SchedulerStats stats() const override { return {}; }

  scheduler::SessionReply Asked() {
    std::unique_lock lock(mutex_);
    asked_.wait_for(lock, std::chrono::seconds(10), [this] { return static_cast<bool>(reply_); });
    return std::move(reply_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable asked_;
  scheduler::SessionReply reply_;
};

TEST(ShutdownTest, BeforeASessionIsAnsweredFor) {
  const auto late = std::make_shared<LateScheduler>();
  auto fake = std::make_unique<FakeServer>(Greet, server::ApiKeys{},
                                           [&](serving::ServedModel& model) { model.scheduler = late; });
  std::thread client([port = fake->server->port()] {
    const net::Client to(net::ServerAddress{"127.0.0.1", port, ""});
    EXPECT_FALSE(to.Send({"GET", "/v1/sessions", {}, {}}).has_value());
  });
  scheduler::SessionReply reply = late->Asked();
  EXPECT_TRUE(reply);
  fake.reset();
  client.join();
  if (reply) reply(std::vector<scheduler::SessionInfo>{});
}

}  // namespace
}  // namespace inferflux::testing
