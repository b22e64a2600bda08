// A worker in the test's process, on the toy engine.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "net/server.h"
#include "net/url.h"
#include "scheduler/scheduler_driver.h"
#include "scheduler/scheduler_thread.h"
#include "text/grammar/grammar_compiler.h"
#include "worker/service/worker_service.h"

namespace inferflux::worker {

inline const std::string kSecret = "a-secret-of-tests";

// A worker in this process: its service, on the toy engine.
class TestWorker {
 public:
  explicit TestWorker(std::string id, scheduler::SchedulerOptions options = {})
      : status_(std::move(id), "toy"), service_{.status = status_, .token = Token(kSecret), .shut_down = [this] {
                                                  shut_down = true;
                                                }} {
    const auto factory = [this](std::stop_token) -> Result<std::unique_ptr<engine::Engine>> {
      auto engine = std::make_unique<scheduler::FakeEngine>(
          scheduler::FakeEngineOptions{.blocks = 4096, .context = 4000}, scheduler::Babble);
      engine->on_step = [this](const engine::UnifiedBatch&) {
        ++steps;
        while (closed && !leaving_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      };
      engine->fault = [this](const engine::UnifiedBatch&) -> Status {
        if (broken) return Fail(ErrorCode::kInternal, "the step failed");
        return {};
      };
      return engine;
    };
    auto model = std::make_shared<serving::ServedModel>();
    auto loop = std::make_shared<scheduler::SchedulerThread>(factory, scheduler::FakeTokenizer(), options);
    EXPECT_TRUE(loop->ready().get());
    model->engine = loop->engine_info();
    model->tokenizer = scheduler::FakeTokenizer();
    model->grammars = std::make_shared<text::GrammarCompiler>(model->tokenizer);
    model->scheduler = loop;
    info = loop->engine_info();
    status_.SetServing(std::move(model));
    auto server = net::Server::Start({}, MakeWorkerRoutes(service_));
    EXPECT_TRUE(server);
    server_ = std::move(*server);
  }
  ~TestWorker() {
    leaving_ = true;
    if (server_) server_->Stop(std::chrono::milliseconds(0));
    status_.model()->scheduler->Stop();
    service_.preparation.join();
  }

  net::ServerAddress address() const { return {.host = "127.0.0.1", .port = server_->port(), .base_path = ""}; }
  // Its connections break, as when its process is killed.
  void Kill() {
    server_->Stop(std::chrono::milliseconds(0));
    leaving_ = true;
  }
  WorkerStatus& status() { return status_; }
  scheduler::SchedulerStats stats() const { return status_.model()->scheduler->stats(); }

  std::atomic<bool> closed{false};  // no step begins
  std::atomic<bool> slow{false};
  std::atomic<bool> broken{false};  // every step fails
  std::atomic<int> steps{0};
  std::atomic<bool> shut_down{false};
  engine::EngineInfo info;

 private:
  WorkerStatus status_;
  WorkerService service_;
  std::atomic<bool> leaving_{false};
  std::unique_ptr<net::Server> server_;
};

}  // namespace inferflux::worker
