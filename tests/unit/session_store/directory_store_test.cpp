#include "session_store/directory_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace inferflux::session_store {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct Directory : ::testing::Test {
  const fs::path path = fs::path(::testing::TempDir()) / ("store-" + std::to_string(::getpid()));
  const scheduler::WallTime now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());

  Directory() { fs::remove_all(path); }
  ~Directory() override { fs::remove_all(path); }

  size_t Files() const {
    size_t out = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path)) out += entry.is_regular_file() ? 1 : 0;
    return out;
  }
};

TEST_F(Directory, IsSharedByTwoStores) {
  auto one = DirectoryStore::Open(path), two = DirectoryStore::Open(path);
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*two)->Get("ab12", 10).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE((*one)->Put("ab12", "first", now + 60s));
  EXPECT_EQ((*two)->Get("ab12", 10).value(), "first");
  ASSERT_TRUE((*two)->Put("ab12", "second", now + 60s));
  EXPECT_EQ((*one)->Get("ab12", 10).value(), "second");
  EXPECT_EQ(Files(), 1u) << "nothing half written stays";
  ASSERT_TRUE((*one)->Remove("ab12"));
  EXPECT_EQ((*two)->Get("ab12", 10).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE((*one)->Remove("ab12")) << "removing twice is no error";
}

TEST_F(Directory, RefusesWhatIsTooLargeOrNoFile) {
  auto store = *DirectoryStore::Open(path);
  ASSERT_TRUE(store->Put("ab12", "0123456789", now + 60s));
  EXPECT_TRUE(store->Get("ab12", 10));
  EXPECT_EQ(store->Get("ab12", 9).error().code, ErrorCode::kDataLoss);
  ASSERT_EQ(::mkfifo((path / "ab" / "ab13").c_str(), 0600), 0);
  EXPECT_EQ(store->Get("ab13", 10).error().code, ErrorCode::kDataLoss) << "and does not wait for a writer";
  fs::create_symlink(path / "ab" / "ab12", path / "ab" / "ab14");
  EXPECT_EQ(store->Get("ab14", 10).error().code, ErrorCode::kIo);
}

// The kernel's files of settings say that they have a page, and end after a few bytes: as one that another server cuts
// while this one reads it.
TEST_F(Directory, AFileThatEndsEarlyIsAnError) {
  const fs::path settings = "/sys/devices/system/cpu";
  std::error_code error;
  if (fs::file_size(settings / "online", error) != 4096) GTEST_SKIP() << settings << " has no such file here";
  auto store = *DirectoryStore::Open(path);
  fs::create_directory_symlink(settings, path / "on");
  const auto read = store->Get("online", 4096);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kIo);
  EXPECT_NE(read.error().message.find("it became shorter"), std::string::npos) << read.error().message;
}

TEST_F(Directory, DeletesWhatExpiredADayAgo) {
  auto store = *DirectoryStore::Open(path);
  ASSERT_TRUE(store->Put("ab12", "old", now - 25h));
  ASSERT_TRUE(store->Put("ab13", "late", now - 23h));
  ASSERT_TRUE(store->Put("ab14", "new", now + 1h));
  auto later = *DirectoryStore::Open(path);  // another server; its first write sweeps
  ASSERT_TRUE(later->Put("ab15", "new", now + 1h));
  EXPECT_FALSE(store->Get("ab12", 10));
  EXPECT_TRUE(store->Get("ab13", 10)) << "clocks of machines differ";
  EXPECT_TRUE(store->Get("ab14", 10));
}

TEST_F(Directory, ThatCannotBeMadeIsNamed) {
  std::ofstream(path).put('x');
  const auto store = DirectoryStore::Open(path / "below");
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("runtime.session_store"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::session_store
