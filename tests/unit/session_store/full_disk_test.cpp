// A disk that takes no more, and a file that cannot be read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include <filesystem>
#include <memory>
#include <string>

#include "session_store/directory_store.h"
#include "session_store/file_limit.h"

namespace inferflux::session_store {
namespace {

namespace fs = std::filesystem;

using testing::FileLimit;

struct FullDisk : ::testing::Test {
  const fs::path path = fs::path(::testing::TempDir()) / ("store-full-" + std::to_string(::getpid()));
  std::shared_ptr<DirectoryStore> store;

  FullDisk() {
    fs::remove_all(path);
    auto opened = DirectoryStore::Open(path);
    EXPECT_TRUE(opened);
    if (opened) store = std::move(*opened);
  }
  ~FullDisk() override { fs::remove_all(path); }
};

TEST_F(FullDisk, APutThatDoesNotFitEndsAndLeavesNothing) {
  const std::string blob(10'000, 'x');
  std::string why;
  {
    const FileLimit limit(4096);  // a part is written, then no more
    const Status put = store->Put("ab12", blob, {});
    why = put ? "" : put.error().message;
  }
  EXPECT_EQ(why, "cannot write " + (path / "ab" / "ab12").string() + ": File too large");
  EXPECT_TRUE(fs::is_empty(path / "ab"));
  {
    const FileLimit limit(10'000);
    EXPECT_TRUE(store->Put("ab12", blob, {}));
  }
  EXPECT_EQ(store->Get("ab12", 10'000).value(), blob);
}

TEST_F(FullDisk, TheSmallestSessionsAreKeptToo) {
  ASSERT_TRUE(store->Put("ab10", "", {}));
  EXPECT_EQ(store->Get("ab10", 0).value(), "");
  ASSERT_TRUE(store->Put("ab11", "x", {}));
  EXPECT_EQ(store->Get("ab11", 1).value(), "x");
}

TEST_F(FullDisk, AnErrorOfSomethingBeforeIsNotTheirs) {
  for (const int before : {ENOENT, EINTR, EDOM}) {
    const FileLimit limit(10'000);
    errno = before;
    EXPECT_TRUE(store->Put("ab12", "body", {})) << before;
    errno = before;
    EXPECT_EQ(store->Get("ab12", 4).value_or(""), "body") << before;
    errno = before;
    EXPECT_TRUE(store->Remove("ab12")) << before;
    errno = before;
    EXPECT_TRUE(DirectoryStore::Open(path)) << before;
  }
}

// The kernel has files that show a size and refuse to be read.
TEST_F(FullDisk, AReadThatFailsEndsWithTheReason) {
  const fs::path refusing = "/sys/class/net/lo";
  std::error_code error;
  if (fs::file_size(refusing / "speed", error) != 4096) GTEST_SKIP() << refusing << " has no such file here";
  fs::create_directory_symlink(refusing, path / "sp");
  const auto read = store->Get("speed", 4096);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kIo);
  EXPECT_EQ(read.error().message, "cannot read " + (path / "sp" / "speed").string() + ": Invalid argument");
}

TEST_F(FullDisk, AFolderThatMayNotBeUsedIsNamed) {
  const fs::path locked = path / "locked";
  fs::create_directory(locked);
  fs::permissions(locked, fs::perms::none);
  const auto opened = DirectoryStore::Open(locked);
  fs::permissions(locked, fs::perms::owner_all);
  if (::geteuid() == 0) GTEST_SKIP() << "root may use every folder";
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message,
            "the session store " + locked.string() + " (runtime.session_store): Permission denied");
}

}  // namespace
}  // namespace inferflux::session_store
