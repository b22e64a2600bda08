// Sessions on disk: a restore returns exactly what was written, or fails.
#include "scheduler/sessions/session_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include "base/log.h"
#include "scheduler/sessions/disk_by_hand.h"

namespace inferflux::scheduler {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr WallTime kNow{1000000s};
constexpr uint64_t kModel = 0x1234;

class SessionFilesTest : public ::testing::Test {
 protected:
  SessionFilesTest() {
    log::SetLevel(log::Level::kError);
    directory_ = fs::path(::testing::TempDir()) / ("sessions-" + std::to_string(::getpid()));
    fs::remove_all(directory_);
  }
  ~SessionFilesTest() override { fs::remove_all(directory_); }

  // With a disk that does everything at once.
  class Files {
   public:
    explicit Files(std::unique_ptr<SessionFiles> files, DiskByHand* disk) : disk(disk), files_(std::move(files)) {}

    Status Write(const SessionKey& key, const std::vector<TokenId>& tokens, std::vector<std::byte> kv, WallTime expires,
                 std::chrono::seconds ttl) {
      std::optional<Status> out;
      auto begun = files_->Write(key, tokens, std::make_shared<const std::vector<std::byte>>(std::move(kv)), expires,
                                 ttl, [&](Status result) { out = std::move(result); });
      if (!begun) return Forward(begun);
      gone = std::move(*begun);
      files_->Collect();
      EXPECT_TRUE(out.has_value());
      return out.value_or(Status());
    }
    Result<std::vector<std::byte>> Read(const SessionKey& key) {
      Result<std::vector<std::byte>> out = Fail(ErrorCode::kInternal, "no answer");
      files_->Read(key, [&](auto kv) { out = std::move(kv); });
      files_->Collect();
      return out;
    }
    const StoredSession* Find(const SessionKey& key) const { return files_->Find(key); }
    const auto& all() const { return files_->all(); }

    DiskByHand* disk;
    std::vector<SessionKey> gone;  // of the last write

   private:
    std::unique_ptr<SessionFiles> files_;
  };

  Files Open(int64_t limit = 1 << 20, uint64_t model = kModel, WallTime now = kNow) {
    auto disk = std::make_unique<DiskByHand>();
    DiskByHand* hand = disk.get();
    auto files = SessionFiles::Open(directory_.string(), limit, model, now, std::move(disk));
    EXPECT_TRUE(files) << files.error().message;
    return Files(std::move(*files), hand);
  }

  static std::vector<std::byte> Kv(size_t size, int value) {
    return std::vector<std::byte>(size, static_cast<std::byte>(value));
  }

  fs::path OnlyFile() const {
    fs::path found;
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      if (entry.is_regular_file()) found = entry.path();
    }
    return found;
  }

  fs::path directory_;
};

const SessionKey kKey{.owner = 7, .id = "chat"};
const std::vector<TokenId> kTokens{1, 2, 3, 500};

TEST_F(SessionFilesTest, WhatWasWrittenIsThereAfterARestart) {
  ASSERT_TRUE(Open().Write(kKey, kTokens, Kv(1001, 5), kNow + 60s, 60s));
  Files files = Open();
  ASSERT_NE(files.Find(kKey), nullptr);
  EXPECT_EQ(files.Find(kKey)->head.tokens, kTokens);
  EXPECT_EQ(files.Find(kKey)->head.expires, kNow + 60s);
  EXPECT_EQ(*files.Read(kKey), Kv(1001, 5));
  EXPECT_EQ(files.Find({.owner = 8, .id = "chat"}), nullptr) << "somebody else's session of that name";
  EXPECT_EQ(fs::status(OnlyFile()).permissions() & fs::perms(077), fs::perms::none) << "others may not read it";
}

TEST_F(SessionFilesTest, AnyDamagedByteIsNoticed) {
  ASSERT_TRUE(Open().Write(kKey, kTokens, Kv(100, 5), kNow + 60s, 60s));
  std::ifstream in(OnlyFile(), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const fs::path path = OnlyFile();
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::ofstream(path, std::ios::binary) << damaged;
    Files files = Open();
    EXPECT_FALSE(files.Read(kKey)) << "byte " << at;
    EXPECT_FALSE(fs::exists(path)) << "byte " << at << ": what is damaged is deleted";
  }
  for (const size_t size : {size_t{0}, size_t{10}, whole.size() - 1, whole.size() + 1}) {
    std::string cut = whole;
    cut.resize(size);
    std::ofstream(path, std::ios::binary) << cut;
    EXPECT_FALSE(Open().Read(kKey)) << size << " bytes";
  }
}

TEST_F(SessionFilesTest, AnotherModelsFilesAreLeftAlone) {
  ASSERT_TRUE(Open().Write(kKey, kTokens, Kv(100, 5), kNow + 60s, 60s));
  EXPECT_EQ(Open(1 << 20, kModel + 1).Find(kKey), nullptr);
  EXPECT_NE(Open().Find(kKey), nullptr);
  // Even under the right name: the fingerprint is in the file too.
  const fs::path moved = directory_ / fmt::format("{:016x}", kModel + 1) / OnlyFile().filename();
  fs::copy(OnlyFile(), moved);
  EXPECT_EQ(Open(1 << 20, kModel + 1).Find(kKey), nullptr);
}

TEST_F(SessionFilesTest, TheOldestGiveWay) {
  Files files = Open(5000);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(files.Write({.owner = 1, .id = std::to_string(i)}, kTokens, Kv(1000, i), kNow + 60s, 60s));
  }
  EXPECT_EQ(files.all().size(), 4u);
  EXPECT_EQ(files.gone, (std::vector<SessionKey>{{.owner = 1, .id = "5"}}));
  EXPECT_NE(files.Find({.owner = 1, .id = "9"}), nullptr);
  EXPECT_EQ(files.Find({.owner = 1, .id = "5"}), nullptr);
  EXPECT_EQ(files.Write(kKey, kTokens, Kv(6000, 1), kNow + 60s, 60s).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(files.all().size(), 4u) << "what cannot fit costs nobody else";
}

TEST_F(SessionFilesTest, WhatHasExpiredIsDeleted) {
  ASSERT_TRUE(Open().Write(kKey, kTokens, Kv(100, 5), kNow + 60s, 60s));
  EXPECT_EQ(Open(1 << 20, kModel, kNow + 60s).Find(kKey), nullptr);
  EXPECT_TRUE(OnlyFile().empty());
}

TEST_F(SessionFilesTest, ADirectoryThatCannotBeIsNamed) {
  std::ofstream(directory_.string()) << "a file";
  const auto files = SessionFiles::Open(directory_.string(), 1, kModel, kNow, std::make_unique<DiskByHand>());
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message.find(directory_.string()), std::string::npos);
}

// Writes fail beyond so many bytes, as they do where the disk is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(SessionFilesTest, AFileThatCannotBeWrittenLeavesTheOneBeforeAsItWas) {
  Files files = Open();
  ASSERT_TRUE(files.Write(kKey, kTokens, Kv(100, 5), kNow + 60s, 60s));
  {
    const FullDisk full(200);
    const Status failed = files.Write(kKey, {1, 2, 3, 500, 6}, Kv(4000, 6), kNow + 60s, 60s);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kIo);
    EXPECT_NE(failed.error().message.find("File too large"), std::string::npos) << failed.error().message;
  }
  ASSERT_NE(files.Find(kKey), nullptr);
  EXPECT_EQ(files.Find(kKey)->head.tokens, kTokens);
  EXPECT_EQ(*files.Read(kKey), Kv(100, 5));
  EXPECT_EQ(OnlyFile().extension(), ".session") << "nothing half written is left";
  EXPECT_EQ(*Open().Read(kKey), Kv(100, 5));
}

TEST_F(SessionFilesTest, TheFileOfBeforeStaysUntilTheNewOneIsThere) {
  ASSERT_TRUE(Open().Write(kKey, kTokens, Kv(100, 5), kNow + 60s, 60s));
  auto disk = std::make_unique<DiskByHand>();
  DiskByHand* hand = disk.get();
  hand->held = true;
  auto files = SessionFiles::Open(directory_.string(), 1 << 20, kModel, kNow, std::move(disk));
  ASSERT_TRUE(files);
  const auto kv = std::make_shared<const std::vector<std::byte>>(Kv(100, 6));
  ASSERT_TRUE((*files)->Write(kKey, kTokens, kv, kNow + 60s, 60s, [](const Status&) {}));
  EXPECT_EQ(*Open().Read(kKey), Kv(100, 5)) << "as a server would find it after a crash";
  hand->Run();
  EXPECT_EQ(*Open().Read(kKey), Kv(100, 6));
}

TEST_F(SessionFilesTest, ARemovedSessionStaysAwayAlthoughAWriteWasInFlight) {
  auto disk = std::make_unique<DiskByHand>();
  DiskByHand* hand = disk.get();
  hand->held = true;
  auto files = SessionFiles::Open(directory_.string(), 1 << 20, kModel, kNow, std::move(disk));
  ASSERT_TRUE(files);
  std::vector<Status> ended;
  const auto kv = std::make_shared<const std::vector<std::byte>>(Kv(100, 5));
  const auto note = [&](Status status) { ended.push_back(std::move(status)); };
  ASSERT_TRUE((*files)->Write(kKey, kTokens, kv, kNow + 60s, 60s, note));
  EXPECT_NE((*files)->Find(kKey), nullptr);
  (*files)->Remove(kKey);
  hand->Run();
  (*files)->Collect();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(OnlyFile().empty());
  EXPECT_TRUE((*files)->all().empty());
}

TEST_F(SessionFilesTest, AReadSeesTheWritesBeforeIt) {
  auto disk = std::make_unique<DiskByHand>();
  DiskByHand* hand = disk.get();
  hand->held = true;
  auto files = SessionFiles::Open(directory_.string(), 1 << 20, kModel, kNow, std::move(disk));
  ASSERT_TRUE(files);
  std::vector<std::vector<std::byte>> read;
  for (const int value : {5, 6}) {
    const auto kv = std::make_shared<const std::vector<std::byte>>(Kv(100, value));
    ASSERT_TRUE((*files)->Write(kKey, kTokens, kv, kNow + 60s, 60s, [](const Status&) {}));
  }
  (*files)->Read(kKey, [&](auto result) { read.push_back(result.value_or(Kv(0, 0))); });
  EXPECT_TRUE(OnlyFile().empty()) << "nothing waits for the disk";
  hand->Run();
  (*files)->Collect();
  EXPECT_EQ(read, (std::vector<std::vector<std::byte>>{Kv(100, 6)}));
}

TEST(DiskThreadTest, EndsWhatWasPostedAndWakesForEachJob) {
  std::atomic<int> woken{0};
  std::vector<int> order;  // of the disk's thread, then read after it has ended
  std::vector<int> done;
  {
    DiskThread disk([&] { ++woken; });
    for (int i = 0; i < 100; ++i) {
      disk.Post([&, i]() -> Disk::Done {
        order.push_back(i);
        return [&done, i] { done.push_back(i); };
      });
    }
    while (woken < 50) std::this_thread::yield();
    disk.Collect();
    EXPECT_GE(done.size(), 50u);
  }
  EXPECT_EQ(woken, 100);
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

}  // namespace
}  // namespace inferflux::scheduler
