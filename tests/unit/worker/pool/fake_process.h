// Workers whose processes are scripts, and whose endpoint /info is in the test's process.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "metrics/registry.h"
#include "net/server.h"
#include "worker/contract/codec.h"
#include "worker/contract/messages.h"
#include "worker/pool/managed_worker.h"

namespace inferflux::worker {

inline bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 20'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// Answers GET /info as a worker does that serves.
class InfoServer {
 public:
  InfoServer() {
    net::Router router;
    router.Add("GET", "/info",
               [this](const net::Request& request, net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
                 WorkerInfo info{.worker_id = "any", .state = WorkerState::kReady};
                 if (with_engine) {
                   info.engine = engine::EngineInfo{.backend = "cpu",
                                                    .provider = "native",
                                                    .vocab_size = 1000,
                                                    .context = 4000,
                                                    .kv_tokens = 4000,
                                                    .max_sequences = 4};
                   info.engine->capabilities.generation = true;
                 }
                 {
                   const std::lock_guard lock(mutex_);
                   asked_with_ = net::FindHeader(request.headers, "Authorization");
                 }
                 net::Response answer(status, "application/json", ToText(info));
                 co_await writer.Send(std::move(answer));
               });
    auto server = net::Server::Start({.io_threads = 1}, std::move(router));
    EXPECT_TRUE(server);
    server_ = std::move(*server);
  }
  std::string uri() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  std::string asked_with() const {
    const std::lock_guard lock(mutex_);
    return asked_with_;
  }

  std::atomic<int> status{200};
  std::atomic<bool> with_engine{true};

 private:
  mutable std::mutex mutex_;
  std::string asked_with_;
  std::unique_ptr<net::Server> server_;
};

// The thread that supervises, and the workers on it.
class WorkersTest : public ::testing::Test {
 protected:
  ~WorkersTest() override {
    for (const auto& worker : all_) worker->Retire();
    for (const auto& worker : all_) EXPECT_TRUE(Eventually([&] { return worker->ended(); })) << worker->id();
    work_.reset();
    thread_.join();
  }

  std::shared_ptr<ManagedWorker> Make(int number, const std::string& script = "exec sleep 100",
                                      WorkerTimes times = {}) {
    WorkerSpec spec{.id = "cpu-" + std::to_string(number), .number = number, .model = "m", .backend = "cpu (native)"};
    spec.process = {
        .program = "/bin/sh", .arguments = {"-c", script}, .environment = {"PATH=/usr/bin:/bin"}, .secret = "s"};
    spec.times = times;
    spec.token = Token("0123456789abcdef");
    all_.push_back(std::make_shared<ManagedWorker>(io_, std::move(spec), registry_, [this](int lost) {
      const std::lock_guard lock(mutex_);
      lost_.push_back(lost);
    }));
    boost::asio::co_spawn(io_, all_.back()->Supervise(), boost::asio::detached);
    return all_.back();
  }
  // Says, as the worker does once it is loaded, where it answers.
  void Register(ManagedWorker& worker) {
    ASSERT_TRUE(Eventually([&] { return worker.View().pid > 0; }));
    worker.OnReady({.worker_id = worker.id(), .uri = info_.uri()});
  }
  std::shared_ptr<ManagedWorker> Serving(int number, const std::string& script = "exec sleep 100",
                                         WorkerTimes times = {}) {
    auto out = Make(number, script, times);
    Register(*out);
    EXPECT_TRUE(Eventually([&] { return out->link() != nullptr; }));
    return out;
  }
  static bool Reaches(const ManagedWorker& worker, WorkerPhase phase) {
    return Eventually([&] { return worker.View().phase == phase; });
  }
  std::vector<int> lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
  }

  metrics::Registry registry_;
  InfoServer info_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{boost::asio::make_work_guard(io_)};
  std::mutex mutex_;
  std::vector<int> lost_;
  std::vector<std::shared_ptr<ManagedWorker>> all_;
  std::thread thread_{[this] { io_.run(); }};
};

}  // namespace inferflux::worker
