// A RemoteScheduler whose workers answer with bytes that the test chooses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "metrics/registry.h"
#include "net/server.h"
#include "worker/remote/remote_scheduler.h"

namespace inferflux::worker {

using scheduler::FinishReason;
using scheduler::GenerationRequest;

// A worker that answers /execute and /sessions with given bytes, and keeps what it was asked.
class ScriptedWorker {
 public:
  ScriptedWorker() {
    net::Router router;
    for (const char* path : {"/execute", "/sessions", "/cancel"}) {
      router.Add(
          "POST", path,
          [this, path](const net::Request& request, net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
            net::Response answer(200, "text/plain");
            {
              const std::lock_guard lock(mutex_);
              asked_.push_back(std::string(path) + " " + request.body);
              const bool sessions = std::string_view(path) == "/sessions";
              answer.status = sessions ? sessions_status : status;
              answer.body = sessions ? sessions_body : body;
            }
            co_await writer.Send(std::move(answer));
          });
    }
    server_ = *net::Server::Start({}, std::move(router));
  }
  std::shared_ptr<WorkerLink> Link(boost::asio::io_context& io, const std::string& id) const {
    auto out = std::make_shared<WorkerLink>();
    out->worker_id = id;
    out->client = std::make_shared<net::AsyncClient>(io, net::ServerAddress{"127.0.0.1", server_->port(), ""});
    return out;
  }
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  int status = 200, sessions_status = 200;
  std::string body, sessions_body;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  std::unique_ptr<net::Server> server_;
};

class TwoWorkers final : public WorkerDirectory {
 public:
  Result<std::shared_ptr<WorkerLink>> Route(const GenerationRequest&, const WorkerLink* except) override {
    for (const auto& link : links) {
      if (link.get() != except) return link;
    }
    return Fail(ErrorCode::kUnavailable, "no worker serves");
  }
  std::vector<std::shared_ptr<WorkerLink>> Links() const override { return links; }
  scheduler::SchedulerStats stats() const override { return {.queued = 7}; }
  std::shared_ptr<WorkerLink> RoutePrefill(const GenerationRequest&) override { return prefill; }
  void CountPrefill() override { ++prefills; }
  void CountRetry() override { ++retries; }
  void Stop() override { stopped = true; }

  std::vector<std::shared_ptr<WorkerLink>> links;
  std::shared_ptr<WorkerLink> prefill;
  std::atomic<int> prefills{0}, retries{0};
  std::atomic<bool> stopped{false};
};

inline const std::string kEnd =
    "data: {\"type\":\"end\",\"tokens_out\":1,\"decode_time_ms\":0,\"stop_reason\":\"EOS\"}\n\n";

class RemoteAnswersTest : public ::testing::Test {
 protected:
  RemoteAnswersTest() {
    directory_->links = {first_.Link(io_, "w-1"), second_.Link(io_, "w-2")};
    engine::EngineInfo info{.vocab_size = 258, .context = 4000, .kv_tokens = 4000, .max_sequences = 4};
    info.capabilities.generation = true;
    remote_ = std::make_unique<RemoteScheduler>(io_, directory_, info, metrics::ModelMetrics(registry_, "m", "cpu"));
  }
  ~RemoteAnswersTest() override {
    remote_.reset();
    work_.reset();
    io_.stop();
    thread_.join();
  }

  static GenerationRequest Request() { return {.prompt = {65, 66}, .max_tokens = 5}; }
  // The text of an answer, and how it ended.
  std::string Ask(GenerationRequest request = Request()) {
    const auto submitted = remote_->Submit(std::move(request));
    if (!submitted) return "refused: " + submitted.error().message;
    std::counting_semaphore<> wake(0);
    (*submitted)->SetNotify([&] { wake.release(); });
    std::string text;
    for (;;) {
      while (auto event = (*submitted)->TryPop()) {
        text += event->text;
        if (!event->finish) continue;
        (*submitted)->SetNotify({});
        const scheduler::Finish& finish = *event->finish;
        if (finish.reason != FinishReason::kError)
          return text + "|" + (finish.reason == FinishReason::kStop ? "stop" : "other");
        return text + "|" + std::to_string(static_cast<int>(finish.error.code)) + " " + finish.error.message;
      }
      if (!wake.try_acquire_for(std::chrono::seconds(20))) return text + "|nothing came";
    }
  }
  // Whether no request is in flight any more: one counts until a moment after its last event.
  bool Idle() const {
    for (int i = 0; i < 20'000; ++i) {
      if (std::ranges::all_of(directory_->links, [](const auto& link) { return link->in_flight == 0; })) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  static std::string Code(ErrorCode code) { return "|" + std::to_string(static_cast<int>(code)) + " "; }
  std::string Sessions(scheduler::SessionCommand::Action action) {
    std::promise<Result<std::vector<scheduler::SessionInfo>>> answer;
    remote_->Session({.action = action, .id = "s", .salt = 3}, [&](auto infos) { answer.set_value(std::move(infos)); });
    const auto infos = answer.get_future().get();
    if (!infos) return infos.error().message;
    std::string out;
    for (const auto& info : *infos) out += info.id + " ";
    return out;
  }

  metrics::Registry registry_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{boost::asio::make_work_guard(io_)};
  ScriptedWorker first_, second_;
  std::shared_ptr<TwoWorkers> directory_ = std::make_shared<TwoWorkers>();
  std::unique_ptr<RemoteScheduler> remote_;
  std::thread thread_{[this] { io_.run(); }};
};

}  // namespace inferflux::worker
