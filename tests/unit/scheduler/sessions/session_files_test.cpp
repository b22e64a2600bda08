// Sessions on disk: a restore returns exactly what was written, or fails.
#include "scheduler/sessions/session_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/log.h"

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

  SessionFiles Open(int64_t limit = 1 << 20, uint64_t model = kModel, WallTime now = kNow) {
    auto files = SessionFiles::Open(directory_.string(), limit, model, now);
    EXPECT_TRUE(files) << files.error().message;
    return std::move(*files);
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
  SessionFiles files = Open();
  ASSERT_NE(files.Find(kKey), nullptr);
  EXPECT_EQ(files.Find(kKey)->tokens, kTokens);
  EXPECT_EQ(files.Find(kKey)->expires, kNow + 60s);
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
    SessionFiles files = Open();
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
  SessionFiles files = Open(5000);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(files.Write({.owner = 1, .id = std::to_string(i)}, kTokens, Kv(1000, i), kNow + 60s, 60s));
  }
  EXPECT_EQ(files.all().size(), 4u);
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
  const auto files = SessionFiles::Open(directory_.string(), 1, kModel, kNow);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message.find(directory_.string()), std::string::npos);
}

}  // namespace
}  // namespace inferflux::scheduler
