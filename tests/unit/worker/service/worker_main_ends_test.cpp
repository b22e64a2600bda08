// With which code a worker program ends, and what it says: to its caller, and to its pool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "command_line/exit_codes.h"
#include "command_line/stop_signals.h"
#include "net/server.h"
#include "worker/contract/schema.h"
#include "worker/service/worker_main.h"

namespace inferflux::worker {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;

// Takes every message, and keeps the last goodbye.
class TakingPool {
 public:
  TakingPool() {
    BlockStopSignals();  // before the server's threads start: the worker ends itself by one
    net::Router router;
    for (const char* path : {"/ready", "/heartbeat", "/deregister"}) {
      router.Add("POST", path,
                 [this, path](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
                   if (std::string_view(path) == "/deregister") {
                     const std::lock_guard lock(mutex_);
                     goodbye_ = request.body;
                   }
                   net::Response answer(200, "application/json", "{}");
                   co_await writer.Send(std::move(answer));
                 });
    }
    server_ = *net::Server::Start({}, std::move(router));
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  uint16_t port() const { return server_->port(); }
  std::string goodbye() const {
    const std::lock_guard lock(mutex_);
    return goodbye_;
  }

 private:
  mutable std::mutex mutex_;
  std::string goodbye_;
  std::unique_ptr<net::Server> server_;
};

struct Ended {
  int code = 0;
  std::string out, error;
};

Ended RunWorker(const std::vector<std::string>& arguments, serving::EngineEntry entry = {}) {
  std::vector<const char*> words = {"worker"};
  for (const std::string& word : arguments) words.push_back(word.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ended out;
  out.code = WorkerMain("worker", static_cast<int>(words.size()), words.data(),
                        [&](ThreadPool&) { return std::vector{entry}; });
  std::fflush(stdout);
  out.out = ::testing::internal::GetCapturedStdout();
  out.error = ::testing::internal::GetCapturedStderr();
  return out;
}

serving::EngineEntry Failing() {
  serving::EngineEntry out;
  out.make = [](const serving::EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> {
    return Fail(ErrorCode::kInternal, "this engine never starts");
  };
  return out;
}

TEST(WorkerMainEnds, WrongSettingsAreAUsageError) {
  const std::string none = ::testing::TempDir() + "/no_token";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "worker: a worker serves one model, and 0 are set; use --model FILE"},
      {{"--model", "m", "--worker-host", "0.0.0.0"},
       "worker: worker.host 0.0.0.0 lets other machines in, and there is no token: set worker.token_file, or listen on "
       "127.0.0.1"},
      {{"--model", "m", "--token-file", none}, "worker: cannot read a token from " + none},
      {{"--model", "m", "--callback-url", "https://x"},
       "worker: worker.callback_url: 'https://x': only http:// is supported"},
  };
  for (const auto& [arguments, right] : cases) {
    const Ended ended = RunWorker(arguments);
    EXPECT_EQ(ended.code, kUsageError) << right;
    EXPECT_THAT(ended.error, HasSubstr(right));
  }
}

TEST(WorkerMainEnds, WhatIsPrintedEndsItWithSuccess) {
  const Ended contract = RunWorker({"--print-contract"});
  EXPECT_EQ(contract.code, 0);
  EXPECT_EQ(contract.out, ContractSchema());
  const Ended config = RunWorker({"--model", "m.gguf", "--print-config", "--worker-id", "w-7"});
  EXPECT_EQ(config.code, 0);
  EXPECT_THAT(config.out, HasSubstr("w-7"));
}

TEST(WorkerMainEnds, AModelThatCannotBeLoadedIsToldToThePool) {
  TakingPool pool;
  const std::string none = ::testing::TempDir() + "/none.gguf";
  const Ended lost =
      RunWorker({"--model", none, "--worker-port", "0", "--callback-url", pool.url(), "--worker-id", "w-1"});
  EXPECT_EQ(lost.code, kLoadFailed);
  EXPECT_THAT(lost.error,
              ::testing::ContainsRegex(" error cannot read [^ ]*: [^=]* worker_id=w-1 model=[^ ]+ port=[1-9][0-9]*\n"))
      << "each line says whose it is";
  EXPECT_THAT(pool.goodbye(),
              HasSubstr(R"({"worker_id":"w-1","code":"MODEL_LOAD_FAILED","reason":"cannot read )" + none + ": "));
  EXPECT_EQ(RunWorker({"--model", INFERFLUX_TINY_MODEL, "--worker-port", "0", "--callback-url", pool.url(),
                       "--worker-id", "w-2"},
                      Failing())
                .code,
            kLoadFailed);
  EXPECT_THAT(pool.goodbye(), HasSubstr(R"({"worker_id":"w-2","code":"MODEL_LOAD_FAILED")"));
  EXPECT_THAT(pool.goodbye(), HasSubstr("this engine never starts"));
}

TEST(WorkerMainEnds, AModelThatIsTooLargeIsToldToThePool) {
  TakingPool pool;
  const Ended ended = RunWorker({"--model", INFERFLUX_TINY_MODEL, "--worker-port", "0", "--callback-url", pool.url(),
                                 "--worker-id", "w-1", "--worker-memory-budget", "1MiB"},
                                Failing());
  EXPECT_EQ(ended.code, kTooLittleMemory) << ended.error;
  EXPECT_THAT(pool.goodbye(), HasSubstr(R"("code":"INSUFFICIENT_MEMORY")"));
  EXPECT_THAT(pool.goodbye(), HasSubstr("worker.memory_budget has 1 MiB"));
}

TEST(WorkerMainEnds, APortThatIsTakenIsNamed) {
  TakingPool pool;
  const Ended ended =
      RunWorker({"--model", INFERFLUX_TINY_MODEL, "--worker-port", std::to_string(pool.port())}, Failing());
  EXPECT_EQ(ended.code, kCannotServe);
  EXPECT_THAT(ended.error, HasSubstr("the port is in use"));
}

}  // namespace
}  // namespace inferflux::worker
