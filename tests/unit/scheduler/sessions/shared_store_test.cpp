// The sessions that machines share, by themselves: names, sizes, and what of the store is taken.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/sessions/disk_by_hand.h"
#include "scheduler/sessions/shared_sessions.h"

namespace inferflux::scheduler {
namespace {

using namespace std::chrono_literals;

// Notes its calls, and gives `blob` to each.
struct NotedStore final : SessionStore {
  std::vector<std::string> calls;
  std::optional<std::string> blob;
  Status removes;

  Status Put(const std::string& name, std::string bytes, WallTime expires) override {
    blob = std::move(bytes);
    calls.push_back(fmt::format("put {} {}", name, expires.time_since_epoch().count()));
    return {};
  }
  Result<std::string> Get(const std::string& name, size_t most) override {
    calls.push_back(fmt::format("get {} {}", name, most));
    if (!blob) return Fail(ErrorCode::kNotFound, "none");
    return *blob;
  }
  Status Remove(const std::string& name) override {
    calls.push_back("remove " + name);
    return removes;
  }
};

struct SharedStore : ::testing::Test {
  std::shared_ptr<NotedStore> store = std::make_shared<NotedStore>();
  DiskByHand* writer = new DiskByHand;
  DiskByHand* reader = new DiskByHand;
  SharedSessions sessions{store, 0xab, 1003, std::unique_ptr<Disk>(writer), std::unique_ptr<Disk>(reader)};
  const WallTime end{1000s};

  void Publish(const SessionKey& key, size_t bytes, std::vector<std::string>* done = nullptr) {
    sessions.Publish(key, {1, 2, 3}, std::make_shared<const std::vector<std::byte>>(bytes, std::byte{7}), end, 60s,
                     [=](const Status& status) {
                       if (done != nullptr) done->push_back(status ? "ok" : status.error().message);
                     });
  }
  std::string Fetch(const SessionKey& key, WallTime now) {
    std::string out = "nothing";
    sessions.Fetch(key, now, [&](Result<DecodedSession> got) {
      out = got ? fmt::format("{} {} {}", got->head.tokens.size(), got->kv.size(), got->head.ttl.count())
                : fmt::format("{} {}", static_cast<int>(got.error().code), got.error().message);
    });
    sessions.Collect();
    return out;
  }
};

TEST_F(SharedStore, NamesHaveTheModelTheOwnerAndTheId) {
  Publish({0x12, "my chat"}, 5);
  EXPECT_EQ(Fetch({0x12, "my chat"}, WallTime{999s}), "3 5 60");
  sessions.Remove({0x12, "my chat"});
  EXPECT_EQ(store->calls, (std::vector<std::string>{"put 00000000000000ab/0000000000000012/my chat 1000",
                                                    "get 00000000000000ab/0000000000000012/my chat 1253",
                                                    "remove 00000000000000ab/0000000000000012/my chat"}));
}

TEST_F(SharedStore, WhatHasExpiredOrIsAnothersIsNotTaken) {
  const auto error = [](ErrorCode code, const char* message) {
    return fmt::format("{} {}", static_cast<int>(code), message);
  };
  EXPECT_EQ(Fetch({1, "a"}, WallTime{0s}), error(ErrorCode::kNotFound, "none"));
  Publish({1, "a"}, 5);
  EXPECT_EQ(Fetch({1, "a"}, WallTime{999s}), "3 5 60");
  EXPECT_EQ(Fetch({1, "a"}, WallTime{1000s}), error(ErrorCode::kNotFound, "the session has expired"));
  EXPECT_EQ(Fetch({1, "b"}, WallTime{0s}), error(ErrorCode::kDataLoss, "the session is another one"));
  EXPECT_EQ(Fetch({2, "a"}, WallTime{0s}), error(ErrorCode::kDataLoss, "the session is another one"));
  store->blob->pop_back();
  EXPECT_NE(Fetch({1, "a"}, WallTime{0s}), "3 5 60");
}

TEST_F(SharedStore, AsMuchMayWaitAsOneSessionMayHave) {
  writer->held = true;
  EXPECT_TRUE(sessions.MayPublish(1003));
  EXPECT_FALSE(sessions.MayPublish(1004));
  Publish({1, "a"}, 1000);
  EXPECT_TRUE(sessions.MayPublish(3));
  EXPECT_FALSE(sessions.MayPublish(4));
  writer->Run();
  EXPECT_FALSE(sessions.MayPublish(4)) << "it is written, and not collected";
  sessions.Collect();
  EXPECT_TRUE(sessions.MayPublish(1003));
}

TEST_F(SharedStore, OnlyTheNewestStateIsWritten) {
  writer->held = true;
  std::vector<std::string> done;
  Publish({1, "a"}, 10, &done);
  Publish({1, "a"}, 20, &done);
  Publish({1, "b"}, 30, &done);
  writer->Run();
  EXPECT_TRUE(done.empty()) << "before they are collected";
  sessions.Collect();
  EXPECT_EQ(done, (std::vector<std::string>{"ok", "ok", "ok"})) << "the older one is told, too";
  EXPECT_EQ(store->calls.size(), 2u);
  EXPECT_TRUE(sessions.MayPublish(1003));
  store->calls.clear();
  Publish({1, "a"}, 40);
  sessions.Remove({1, "a"});
  writer->Run();
  EXPECT_EQ(store->calls, (std::vector<std::string>{"remove 00000000000000ab/0000000000000001/a"}));
  store->removes = Fail(ErrorCode::kIo, "it fails");
  sessions.Remove({1, "b"});
  writer->Run();
  sessions.Collect();
  EXPECT_EQ(store->calls.size(), 2u) << "an error is logged, and no more";
}

}  // namespace
}  // namespace inferflux::scheduler
