// What a worker does when its pool refuses it.
#include "worker/service/pool_link.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

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
      router.Add("POST", path, [this, path](const net::Request&, net::ResponseWriter& writer) -> asio::awaitable<void> {
        net::Response answer(Take(path), "application/json", "{}");
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
  void Answer(const std::string& path, int status) {
    const std::lock_guard lock(mutex_);
    statuses_[path] = status;
  }

 private:
  int Take(const std::string& path) {
    const std::lock_guard lock(mutex_);
    ++counts_[path];
    const auto found = statuses_.find(path);
    return found == statuses_.end() ? 200 : found->second;
  }

  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::map<std::string, int> statuses_;
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

TEST(PoolLink, ThatTimeIsAMinute) { EXPECT_EQ(PoolLinkOptions{}.orphan_time, 60s); }

}  // namespace
}  // namespace inferflux::worker
