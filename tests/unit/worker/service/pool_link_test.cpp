// What a worker does when its pool refuses it.
#include "worker/service/pool_link.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "worker/contract/codec.h"
#include "worker/test_worker.h"

namespace inferflux::worker {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

// Counts the messages of a worker, and answers each kind with its status.
class FakePool {
 public:
  FakePool() {
    net::Router router;
    for (const char* path : {"/ready", "/heartbeat", "/deregister"}) {
      router.Add("POST", path,
                 [this, path](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
                   net::Response answer(Take(path, request), "application/json", "{}");
                   co_await writer.Send(std::move(answer));
                 });
    }
    auto server = net::Server::Start({}, std::move(router));
    EXPECT_TRUE(server);
    server_ = std::move(*server);
  }

  net::ServerAddress address() const { return {.host = "127.0.0.1", .port = server_->port(), .base_path = ""}; }
  int count(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return counts_[path];
  }
  // The token and the body of the last message.
  std::string last(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return last_[path];
  }
  void Answer(const std::string& path, int status) {
    const std::lock_guard lock(mutex_);
    statuses_[path] = status;
  }

 private:
  int Take(const std::string& path, const net::Request& request) {
    const std::lock_guard lock(mutex_);
    ++counts_[path];
    last_[path] = std::string(net::FindHeader(request.headers, "Authorization")) + " " + request.body;
    const auto found = statuses_.find(path);
    return found == statuses_.end() ? 200 : found->second;
  }

  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::map<std::string, int> statuses_;
  std::map<std::string, std::string> last_;
  std::unique_ptr<net::Server> server_;
};

template <class Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

PoolLinkOptions Options(const FakePool& pool) {
  PoolLinkOptions out;
  out.callback = pool.address();
  out.heartbeat = 20ms;
  return out;
}

TEST(PoolLink, AWorkerWhoseHeartbeatsAreRefusedRegistersAgainAndGoesOn) {
  FakePool pool;
  TestWorker worker("w-1");
  std::atomic<int> lost{0};
  {
    const PoolLink link(worker.status(), Options(pool), [&] { ++lost; });
    EXPECT_TRUE(Eventually([&] { return pool.count("/heartbeat") >= 2; }));
    EXPECT_EQ(pool.count("/ready"), 1);
    pool.Answer("/heartbeat", 404);
    EXPECT_TRUE(Eventually([&] { return pool.count("/ready") >= 2; }));
    pool.Answer("/heartbeat", 200);
    const int before = pool.count("/heartbeat");
    EXPECT_TRUE(Eventually([&] { return pool.count("/heartbeat") >= before + 3; }));
  }
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(pool.count("/deregister"), 1);
}

TEST(PoolLink, AWorkerThatNoPoolTakesBackEndsAfterItsTime) {
  FakePool pool;
  TestWorker worker("w-1");
  std::atomic<int> lost{0};
  PoolLinkOptions options = Options(pool);
  options.orphan_time = 1'500ms;
  const PoolLink link(worker.status(), std::move(options), [&] { ++lost; });
  EXPECT_TRUE(Eventually([&] { return pool.count("/heartbeat") >= 1 && pool.count("/ready") == 1; }));
  const auto began = std::chrono::steady_clock::now();
  pool.Answer("/ready", 500);
  pool.Answer("/heartbeat", 500);
  EXPECT_TRUE(Eventually([&] { return lost == 1; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 1'400ms);
  EXPECT_GE(pool.count("/ready"), 3);  // it tried meanwhile
}

TEST(PoolLink, AWorkerThatNoPoolTakesTriesItsTimesAndIsLost) {
  FakePool pool;
  pool.Answer("/ready", 500);
  TestWorker worker("w-1");
  std::atomic<int> lost{0};
  PoolLinkOptions options = Options(pool);
  options.tries = {0ms, 100ms, 150ms};
  const auto began = std::chrono::steady_clock::now();
  const PoolLink link(worker.status(), std::move(options), [&] { ++lost; });
  EXPECT_TRUE(Eventually([&] { return lost == 1; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 250ms);
  EXPECT_EQ(pool.count("/ready"), 3);
  EXPECT_EQ(pool.count("/heartbeat"), 0);
}

TEST(PoolLink, AWorkerThatLoadsSendsHeartbeatsAndTellsAChangeAtOnce) {
  FakePool pool;
  WorkerStatus status("w-1", "m");
  PoolLinkOptions options = Options(pool);
  options.heartbeat = 60s;
  std::atomic<int> lost{0};
  pool.Answer("/heartbeat", 404);  // whoever is not registered yet is no orphan
  const PoolLink link(status, std::move(options), [&] { ++lost; });
  EXPECT_TRUE(Eventually([&] { return pool.count("/heartbeat") >= 2; }));
  EXPECT_EQ(pool.count("/ready"), 0);
  pool.Answer("/heartbeat", 200);
  TestWorker worker("w-2");
  auto model = std::make_shared<serving::ServedModel>();
  model->scheduler = worker.status().model()->scheduler;
  status.SetServing(model);
  EXPECT_TRUE(Eventually([&] { return pool.count("/ready") == 1; }));
  std::this_thread::sleep_for(100ms);
  const int before = pool.count("/heartbeat");
  status.SetDraining();
  EXPECT_TRUE(Eventually([&] { return pool.count("/heartbeat") == before + 1; }));
  EXPECT_EQ(lost, 0);
}

TEST(PoolLink, MessagesCarryTheTokenAndAnyStatusOf200IsTaken) {
  FakePool pool;
  TestWorker worker("w-1");
  for (const int status : {200, 202, 299}) {
    for (const char* path : {"/ready", "/heartbeat"}) pool.Answer(path, status);
    const int before = pool.count("/ready"), beats = pool.count("/heartbeat");
    PoolLinkOptions options = Options(pool);
    options.token = Token("0123456789abcdef");
    const PoolLink link(worker.status(), std::move(options), [] { ADD_FAILURE(); });
    EXPECT_TRUE(Eventually([&] { return pool.count("/heartbeat") >= beats + 3; }));
    EXPECT_EQ(pool.count("/ready"), before + 1) << status;
  }
  EXPECT_EQ(pool.last("/ready"), "Bearer 0123456789abcdef " + ToText(worker.status().MakeReady()));
  EXPECT_TRUE(pool.last("/heartbeat").starts_with("Bearer 0123456789abcdef {\"worker_id\":\"w-1\","));
  EXPECT_TRUE(Eventually([&] { return pool.count("/deregister") == 3; }));
  EXPECT_EQ(pool.last("/deregister"), "Bearer 0123456789abcdef " + ToText(worker.status().MakeDeregistration()));
}

TEST(PoolLink, AWorkerThatEndsWhileItWaitsForThePoolIsNotLost) {
  FakePool pool;
  TestWorker worker("w-1");
  const auto began = std::chrono::steady_clock::now();
  std::atomic<int> lost{0};
  {
    PoolLinkOptions options = Options(pool);
    options.tries = {60s};
    const PoolLink link(worker.status(), std::move(options), [&] { ++lost; });
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(pool.count("/ready"), 0);
  pool.Answer("/heartbeat", 300);
  {
    const PoolLink link(worker.status(), Options(pool), [&] { ++lost; });
    EXPECT_TRUE(Eventually([&] { return pool.count("/ready") >= 1; }));
    pool.Answer("/ready", 300);
    const int tried = pool.count("/ready");
    EXPECT_TRUE(Eventually([&] { return pool.count("/ready") >= tried + 2; })) << "it tries to come back";
  }
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(pool.count("/deregister"), 2);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 40s);
}

TEST(PoolLink, ThatTimeIsAMinute) { EXPECT_EQ(PoolLinkOptions{}.orphan_time, 60s); }

}  // namespace
}  // namespace inferflux::worker
