// A worker program that serves, with the settings that it was given, until it is told to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/usable_cores.h"
#include "command_line/stop_signals.h"
#include "net/client.h"
#include "net/server.h"
#include "net/url.h"
#include "scheduler/fake_engine.h"
#include "serving/backends/rank_job.h"
#include "worker/contract/codec.h"
#include "worker/contract/generation_messages.h"
#include "worker/contract/messages.h"
#include "worker/service/worker_main.h"
#include "worker/token.h"

namespace inferflux::worker {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Takes every message. The first heartbeat, or the ready callback, begins `meet` on a thread of its own, with the
// worker's address.
class MeetingPool {
 public:
  using Meet = std::function<void(const net::ServerAddress&)>;
  explicit MeetingPool(Meet at_heartbeat = {}, Meet at_ready = {}) {
    BlockStopSignals();  // before the server's threads start: the worker ends itself by one
    net::Router router;
    Take<Heartbeat>(router, "/heartbeat", std::move(at_heartbeat));
    Take<ReadyCallback>(router, "/ready", std::move(at_ready));
    Take<Deregistration>(router, "/deregister", {});
    server_ = *net::Server::Start({}, std::move(router));
  }
  ~MeetingPool() { End(); }
  // Returns when each meeting is over.
  void End() {
    server_->Stop(0ms);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  std::string goodbye() const {
    const std::lock_guard lock(mutex_);
    return goodbye_;
  }

 private:
  template <class T>
  void Take(net::Router& router, const char* path, Meet meet) {
    auto met = std::make_shared<std::atomic<bool>>(!meet);
    router.Add(
        "POST", path,
        [this, meet, met](const net::Request& request, net::ResponseWriter& writer) -> boost::asio::awaitable<void> {
          const auto message = FromText<T>(request.body);
          EXPECT_TRUE(message) << request.body;
          if constexpr (requires { message->uri; }) {
            const std::lock_guard lock(mutex_);
            if (message && !met->exchange(true)) {
              threads_.emplace_back([meet, to = *net::ParsePlainAddress(message->uri)] { meet(to); });
            }
          } else {
            const std::lock_guard lock(mutex_);
            goodbye_ = request.body;
          }
          net::Response answer(200, "application/json", "{}");
          co_await writer.Send(std::move(answer));
        });
  }

  mutable std::mutex mutex_;  // guards what follows
  std::string goodbye_;
  std::vector<std::thread> threads_;
  std::unique_ptr<net::Server> server_;  // the last: it ends before what it reports to
};

template <class Condition>
bool Comes(Condition condition) {
  for (int i = 0; i < 20'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

net::ClientResponse Say(const net::ServerAddress& to, const std::string& path, const std::string& body,
                        const Token& token = {}) {
  const auto answer = net::Client(to).Send(
      {.method = body.empty() ? "GET" : "POST", .target = path, .headers = token.Headers(), .body = body});
  EXPECT_TRUE(answer) << path;
  return answer.value_or(net::ClientResponse{});
}

int Serve(std::vector<std::string> arguments, const std::vector<serving::EngineEntry>& engines,
          int* threads = nullptr) {
  arguments.insert(arguments.begin(), {"worker", "--worker-port", "0", "--log-level", "error"});
  std::vector<const char*> words;
  for (const std::string& word : arguments) words.push_back(word.c_str());
  return WorkerMain("worker", static_cast<int>(words.size()), words.data(), [&](ThreadPool& pool) {
    if (threads != nullptr) *threads = pool.workers();
    return engines;
  });
}

// An engine that only remembers what it was asked for.
serving::EngineEntry Remembers(serving::EngineRequest& asked, int& times) {
  serving::EngineEntry out;
  out.make = [&](const serving::EngineRequest& request) -> Result<std::unique_ptr<engine::Engine>> {
    asked = request;
    asked.source.reset();
    ++times;
    return Fail(ErrorCode::kInternal, "that was all");
  };
  return out;
}

std::string PromptOf(const std::string& id, int tokens, int most) {
  std::string prompt;
  for (int i = 0; i < tokens; ++i) prompt += (i == 0 ? "" : ",") + std::to_string(65 + i % 20);
  return "{\"request_id\":\"" + id + "\",\"prompt\":[" + prompt + "],\"max_tokens\":" + std::to_string(most) + "}";
}

TEST(WorkerMainServes, WithItsSettingsUntilItIsToldToEnd) {
  const std::string token_file = ::testing::TempDir() + "/worker_main_serves_token_" + std::to_string(::getpid());
  std::ofstream(token_file) << "0123456789abcdef\n";
  const Token token("0123456789abcdef");
  std::atomic<bool> closed{false};
  std::atomic<int> steps{0};
  std::atomic<size_t> most_items{0}, most_tokens{0};
  serving::EngineRequest asked;
  serving::EngineEntry entry;
  entry.make = [&](const serving::EngineRequest& request) -> Result<std::unique_ptr<engine::Engine>> {
    asked = request;
    asked.source.reset();
    auto engine = std::make_unique<scheduler::FakeEngine>(
        scheduler::FakeEngineOptions{.blocks = 1024, .context = request.context}, scheduler::Babble);
    engine->on_step = [&](const engine::UnifiedBatch& batch) {
      size_t tokens = 0;
      for (const auto& item : batch.items) tokens += item.tokens.size();
      if (steps > 0) most_items = std::max(most_items.load(), batch.items.size());
      if (steps > 0) most_tokens = std::max(most_tokens.load(), tokens);
      ++steps;
      while (closed) std::this_thread::sleep_for(1ms);
    };
    return engine;
  };
  const std::string sessions = ::testing::TempDir() + "/worker_main_serves_sessions_" + std::to_string(::getpid());
  std::filesystem::remove_all(sessions);
  std::string served, last;
  MeetingPool pool({}, [&](const net::ServerAddress& to) {
    EXPECT_EQ(Say(to, "/info", "").status, 401);
    const auto lost = Say(to, "/nothing", "", token);
    EXPECT_EQ(lost.status, 404);
    EXPECT_THAT(lost.body,
                StartsWith(R"({"type":"error","code":"INVALID_REQUEST","message":"no such path: /nothing")"));
    const auto info = FromText<WorkerInfo>(Say(to, "/info", "", token).body);
    EXPECT_TRUE(info && info->engine);
    if (info && info->engine) {
      EXPECT_EQ(info->worker_id, "w-3");
      EXPECT_EQ(info->state, WorkerState::kReady);
      EXPECT_EQ(info->model, INFERFLUX_TINY_MODEL);
      EXPECT_EQ(info->engine->context, 300);
    }
    const int before = steps;
    most_items = most_tokens = 0;
    closed = true;
    std::thread running([&] { served = Say(to, "/execute", PromptOf("a", 50, 5), token).body; });
    EXPECT_TRUE(Comes([&] { return steps > before; }));
    std::atomic<int> taken{0}, refused{0};
    std::vector<std::thread> others;
    for (const char* id : {"b", "c"}) {
      others.emplace_back([&, id] {
        const int status = Say(to, "/execute", PromptOf(id, 3, 5), token).status;
        ++(status == 429 ? refused : taken);
      });
    }
    EXPECT_TRUE(Comes([&] { return refused == 1; })) << "one may wait";
    closed = false;
    running.join();
    for (std::thread& other : others) other.join();
    EXPECT_EQ(taken, 1);
    EXPECT_EQ(most_items, 1u) << "one runs at a time";
    EXPECT_EQ(most_tokens, 16u);
    EXPECT_EQ(
        Say(to, "/execute",
            R"({"request_id":"s","prompt":[65,66],"max_tokens":2,"session":{"id":"chat","ttl_seconds":60,"once":false}})",
            token)
            .status,
        200);
    const auto saved =
        FromText<SessionList>(Say(to, "/sessions", R"({"action":"save","id":"chat","salt":0})", token).body);
    EXPECT_TRUE(saved && saved->sessions.size() == 1 && saved->sessions[0].on_disk);
    EXPECT_FALSE(std::filesystem::is_empty(sessions));
    const int then = steps;
    closed = true;
    std::thread ending([&] { last = Say(to, "/execute", PromptOf("d", 3, 5), token).body; });
    EXPECT_TRUE(Comes([&] { return steps > then; }));
    EXPECT_EQ(Say(to, "/shutdown", "{}", token).status, 202);
    std::this_thread::sleep_for(400ms);
    closed = false;
    ending.join();
  });
  int threads = 0;
  const int code = Serve({"--model",
                          INFERFLUX_TINY_MODEL,
                          "--callback-url",
                          pool.url(),
                          "--worker-id",
                          "w-3",
                          "--token-file",
                          token_file,
                          "--runtime-context",
                          "300",
                          "--runtime-max-running",
                          "1",
                          "--runtime-max-queue",
                          "1",
                          "--runtime-max-batch-tokens",
                          "16",
                          "--runtime-kv-dtype",
                          "bf16",
                          "--worker-memory-budget",
                          "64MiB",
                          "--runtime-speculation",
                          "none",
                          "--runtime-session-dir",
                          sessions,
                          "--runtime-threads",
                          "3"},
                         {entry}, &threads);
  pool.End();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(threads, 3);
  EXPECT_EQ(pool.goodbye(), R"({"worker_id":"w-3","code":"CANCELLED","reason":"it was asked to stop"})");
  EXPECT_THAT(served, EndsWith("\"stop_reason\":\"MAX_TOKENS\"}\n\n"));
  EXPECT_THAT(last, EndsWith("\"stop_reason\":\"MAX_TOKENS\"}\n\n")) << "what runs is answered to its end";
  EXPECT_EQ(asked.context, 300);
  EXPECT_EQ(asked.config.kv_dtype, "bf16");
  const auto weights = static_cast<double>(std::filesystem::file_size(INFERFLUX_TINY_MODEL));
  EXPECT_EQ(asked.config.kv_budget, ((int64_t{64} << 20) - static_cast<int64_t>(1.1 * weights)) * 10 / 11)
      << "what the weights leave, but for a tenth";
  std::filesystem::remove(token_file);
  std::filesystem::remove_all(sessions);
}

TEST(WorkerMainServes, AStopEndsALoad) {
  std::atomic<bool> loads{false};
  serving::EngineEntry entry;
  entry.make = [&](const serving::EngineRequest& request) -> Result<std::unique_ptr<engine::Engine>> {
    loads = true;
    if (!Comes([&] { return request.stop.stop_requested(); })) return Fail(ErrorCode::kInternal, "nobody stopped it");
    return Fail(ErrorCode::kCancelled, "stopped");
  };
  MeetingPool pool([&](const net::ServerAddress& to) {
    EXPECT_TRUE(Comes([&] { return loads.load(); }));
    const auto info = FromText<WorkerInfo>(Say(to, "/info", "").body);
    EXPECT_TRUE(info && info->state == WorkerState::kLoading && info->progress);
    if (info && info->progress) {
      EXPECT_EQ(info->progress->all_bytes, static_cast<int64_t>(std::filesystem::file_size(INFERFLUX_TINY_MODEL)));
    }
    EXPECT_EQ(Say(to, "/readyz", "").status, 503);
    EXPECT_EQ(Say(to, "/shutdown", "{}").status, 202);
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(Serve({"--model", INFERFLUX_TINY_MODEL, "--callback-url", pool.url(), "--worker-id", "w-4"}, {entry}), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 25s) << "nothing runs that it could wait for";
  EXPECT_EQ(pool.goodbye(), R"({"worker_id":"w-4","code":"CANCELLED","reason":"it was asked to stop"})");
}

TEST(WorkerMainServes, TheModelsOwnSettingsComeFirst) {
  BlockStopSignals();
  serving::EngineRequest asked;
  int times = 0, threads = 0;
  const auto with = [&](const std::string& settings, std::vector<std::string> flags = {}) {
    times = 0;
    asked = {};
    const std::string models = R"([{"id":"m","path":")" + std::string(INFERFLUX_TINY_MODEL) + "\"" + settings + "}]";
    ::setenv("INFERFLUX_MODELS", models.c_str(), 1);
    const int code = Serve(std::move(flags), {Remembers(asked, times)}, &threads);
    ::unsetenv("INFERFLUX_MODELS");
    return code;
  };
  EXPECT_EQ(with(R"(,"backend":"native_cpu","context":200,"kv_budget":2097152)",
                 {"--runtime-context", "300", "--runtime-backend", "cuda", "--runtime-kv-budget", "3MiB"}),
            kLoadFailed);
  EXPECT_EQ(times, 1) << "the flag names another engine";
  EXPECT_EQ(asked.context, 200);
  EXPECT_EQ(asked.config.kv_budget, 2 << 20);
  EXPECT_EQ(threads, UsableCores());
  EXPECT_EQ(with("", {"--runtime-context", "300", "--runtime-kv-budget", "3MiB", "--worker-memory-budget", "64MiB"}),
            kLoadFailed);
  EXPECT_EQ(asked.context, 300);
  EXPECT_EQ(asked.config.kv_budget, 3 << 20) << "a budget is kept that fits";
  EXPECT_EQ(with(""), kLoadFailed);
  EXPECT_EQ(asked.context, 0);
  EXPECT_EQ(asked.config.kv_budget.value_or(0), 0) << "the engine plans it";
  EXPECT_EQ(with("", {"--runtime-kv-budget", "100MiB", "--worker-memory-budget", "64MiB"}), kTooLittleMemory);
  EXPECT_EQ(with(R"(,"format":"huggingface")"), kLoadFailed);
  EXPECT_EQ(times, 0) << "it is no such file";
  EXPECT_EQ(with(R"(,"draft":"/none/draft.gguf")"), kLoadFailed);
  EXPECT_EQ(times, 0) << "it needs its draft too";
  EXPECT_EQ(with(R"(,"tensor_parallel":2)"), kLoadFailed);
  EXPECT_EQ(threads, std::max(1, UsableCores() / 2)) << "the other rank has the others";
  EXPECT_EQ(with(R"(,"tensor_parallel":8,"pipeline_parallel":8)"), kLoadFailed);
  EXPECT_EQ(threads, std::max(1, UsableCores() / 64));
  EXPECT_EQ(with(R"(,"backend":"cuda")"), kLoadFailed);
  EXPECT_EQ(times, 0);
}

TEST(WorkerMainServes, EnginesAreTriedInTheOrderOfTheSettings) {
  BlockStopSignals();
  using serving::Provider, serving::Target;
  std::string tried;
  const auto engine = [&](Target target, Provider provider, bool automatic, const char* letter) {
    serving::EngineEntry out{.target = target, .provider = provider, .automatic = automatic};
    out.make = [&tried, letter](const serving::EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> {
      tried += letter;
      return Fail(ErrorCode::kInternal, "that was all");
    };
    return out;
  };
  const auto order = [&](std::vector<std::string> flags) {
    tried.clear();
    flags.insert(flags.end(), {"--model", INFERFLUX_TINY_MODEL});
    EXPECT_EQ(Serve(std::move(flags), {engine(Target::kCpu, Provider::kNative, true, "c"),
                                       engine(Target::kCpu, Provider::kLlamaCpp, true, "l"),
                                       engine(Target::kReference, Provider::kNative, false, "r")}),
              kLoadFailed);
    return tried;
  };
  EXPECT_EQ(order({"--runtime-backend", "cpu"}), "cl");
  EXPECT_EQ(order({"--runtime-backend", "cpu", "--runtime-backend-exposure-prefer-native", "false"}), "lc");
  EXPECT_EQ(order({"--runtime-backend", "cpu", "--runtime-backend-exposure-allow-llama-fallback", "false"}), "c");
  EXPECT_EQ(order({"--runtime-backend-priority", "reference,cpu"}), "rcl")
      << "whoever starts it has chosen its engines";
  EXPECT_EQ(order({"--runtime-backend-priority", "cpu,reference"}), "clr");
}

TEST(WorkerMainServes, ADeviceThatComputesRightLoadsTheModel) {
  BlockStopSignals();
  serving::EngineRequest asked;
  int times = 0;
  std::vector<int32_t> tested;
  auto entry = Remembers(asked, times);
  entry.self_test = [&](int32_t device) -> Status {
    tested.push_back(device);
    return {};
  };
  EXPECT_EQ(Serve({"--model", INFERFLUX_TINY_MODEL}, {entry}), kLoadFailed);
  EXPECT_EQ(tested.size(), 1u);
  EXPECT_EQ(times, 1);
}

TEST(WorkerMainServes, ALostRankEndsTheWorkerWithItsCode) {
  BlockStopSignals();
  serving::EngineEntry entry;
  entry.make = [](const serving::EngineRequest& request) -> Result<std::unique_ptr<engine::Engine>> {
    EXPECT_NE(request.rank_job, nullptr);
    if (!request.rank_job) return Fail(ErrorCode::kInternal, "no job");
    EXPECT_EQ(request.rank_job->world, nullptr) << "mpirun has not started this process";
    request.rank_job->on_lost({ErrorCode::kUnavailable, "rank 1 has died"});
    return std::make_unique<scheduler::FakeEngine>(scheduler::FakeEngineOptions{}, scheduler::Babble);
  };
  EXPECT_EQ(Serve({"--model", INFERFLUX_TINY_MODEL}, {entry}), kLostRank);
}

TEST(WorkerMainServes, AStoreThatCannotBeOpenedIsToldToThePool) {
  MeetingPool pool;
  serving::EngineRequest asked;
  int times = 0;
  EXPECT_EQ(
      Serve({"--model", INFERFLUX_TINY_MODEL, "--callback-url", pool.url(), "--runtime-session-store", "/tmp/none"},
            {Remembers(asked, times)}),
      kLoadFailed);
  EXPECT_EQ(times, 0);
  EXPECT_THAT(pool.goodbye(), HasSubstr("runtime.session_store needs runtime.session_store_key_file"));
}

}  // namespace
}  // namespace inferflux::worker
