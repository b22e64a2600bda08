// A worker program whose device computes something wrong.
#include "worker/service/worker_main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>

#include "command_line/stop_signals.h"
#include "net/server.h"

namespace inferflux::worker {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;

TEST(WorkerMain, ADeviceThatComputesSomethingWrongIsToldAndEndsTheWorker) {
  BlockStopSignals();  // before the server's threads start: the worker ends itself by one
  std::mutex mutex;
  std::string goodbye;
  net::Router router;
  for (const char* path : {"/ready", "/heartbeat", "/deregister"}) {
    router.Add("POST", path,
               [&, path](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
                 if (std::string_view(path) == "/deregister") {
                   const std::lock_guard lock(mutex);
                   goodbye = request.body;
                 }
                 net::Response answer(200, "application/json", "{}");
                 co_await writer.Send(std::move(answer));
               });
  }
  auto pool = net::Server::Start({}, std::move(router));
  ASSERT_TRUE(pool);
  const std::string url = fmt::format("http://127.0.0.1:{}", (*pool)->port());
  const char* const arguments[] = {"worker",        "--model",     INFERFLUX_TINY_MODEL,
                                   "--worker-port", "0",           "--callback-url",
                                   url.c_str(),     "--worker-id", "w-9"};
  const int code = WorkerMain("worker", static_cast<int>(std::size(arguments)), arguments, [](ThreadPool&) {
    serving::EngineEntry entry;
    entry.make = [](const serving::EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> {
      ADD_FAILURE() << "a model was loaded on a broken device";
      return Fail(ErrorCode::kInternal, "broken");
    };
    entry.self_test = [](int32_t) -> Status { return Fail(ErrorCode::kInternal, "2 + 2 was 5"); };
    return std::vector{entry};
  });
  EXPECT_EQ(code, kDeviceFailed);
  (*pool)->Stop(std::chrono::milliseconds(100));
  EXPECT_THAT(goodbye, HasSubstr(R"("code":"DEVICE_ERROR")"));
  EXPECT_THAT(goodbye, HasSubstr("2 + 2 was 5"));
}

}  // namespace
}  // namespace inferflux::worker
