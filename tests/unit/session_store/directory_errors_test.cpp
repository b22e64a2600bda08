// A shared folder that has something else where a session would be, and what a sweep leaves alone.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "session_store/directory_store.h"

namespace inferflux::session_store {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct SharedFolder : ::testing::Test {
  const fs::path path = fs::path(::testing::TempDir()) / ("store-errors-" + std::to_string(::getpid()));
  const scheduler::WallTime now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  std::shared_ptr<DirectoryStore> store;

  SharedFolder() {
    fs::remove_all(path);
    auto opened = DirectoryStore::Open(path);
    EXPECT_TRUE(opened);
    if (opened) store = std::move(*opened);
  }
  ~SharedFolder() override { fs::remove_all(path); }

  // A file that expired long ago.
  void MakeOld(const fs::path& name) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << "old";
    fs::last_write_time(path / name, fs::file_time_type::clock::now() - 48h);
  }
};

TEST_F(SharedFolder, AFileIsForTheOwnerAndItsTimeIsWhenItExpires) {
  ASSERT_TRUE(store->Put("ab12", "body", now + 60s));
  struct stat status {};
  ASSERT_EQ(::stat((path / "ab" / "ab12").c_str(), &status), 0) << "a folder for each pair of first digits";
  EXPECT_EQ(status.st_mode & 0777, 0600);
  EXPECT_EQ(status.st_mtim.tv_sec, (now + 60s).time_since_epoch().count());
  EXPECT_EQ(status.st_mtim.tv_nsec, 0);
}

TEST_F(SharedFolder, WhatCannotBeWrittenIsNamedAndLeavesNothing) {
  std::ofstream(path / "ab") << "in the way";
  const Status blocked = store->Put("ab12", "body", now);
  ASSERT_FALSE(blocked);
  EXPECT_EQ(blocked.error().code, ErrorCode::kIo);
  EXPECT_EQ(blocked.error().message, "cannot write " + (path / "ab" / "ab12").string() + ": Not a directory");
  fs::create_directories(path / "cd" / "cd12" / "below");
  const Status replaced = store->Put("cd12", "body", now);
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().message, "cannot write " + (path / "cd" / "cd12").string() + ": Is a directory");
  EXPECT_EQ(std::distance(fs::directory_iterator(path / "cd"), fs::directory_iterator()), 1) << "a part is left over";
}

TEST_F(SharedFolder, WhatCannotBeReadOrRemovedIsNamed) {
  std::ofstream(path / "ab") << "in the way";
  const auto read = store->Get("ab12", 10);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kIo);
  EXPECT_EQ(read.error().message, "cannot read " + (path / "ab" / "ab12").string() + ": Not a directory");
  fs::create_directories(path / "cd" / "cd12" / "below");
  const std::string folder = (path / "cd" / "cd12").string();
  const auto other = store->Get("cd12", 4096);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(other.error().message, folder + " is not a file of at most 4096 bytes");
  const Status removed = store->Remove("cd12");
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, ErrorCode::kIo);
  EXPECT_EQ(removed.error().message, "cannot remove " + folder + ": Directory not empty");
}

TEST_F(SharedFolder, OnlySessionsAreSweptAndAtMostOnceAnHour) {
  MakeOld("ab/ab12");
  MakeOld("abc/ab12");
  MakeOld("a/ab12");
  MakeOld("ab12");
  MakeOld("ef");
  ASSERT_TRUE(store->Put("cd12", "body", now + 60s));
  EXPECT_FALSE(fs::exists(path / "ab" / "ab12"));
  for (const char* kept : {"abc/ab12", "a/ab12", "ab12", "ef"}) EXPECT_TRUE(fs::exists(path / kept)) << kept;
  MakeOld("ab/ab13");
  ASSERT_TRUE(store->Put("cd13", "body", now + 60s));
  EXPECT_TRUE(fs::exists(path / "ab" / "ab13"));
}

TEST_F(SharedFolder, NoFileStaysOpen) {
  const auto open = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); };
  const auto before = open();
  ASSERT_TRUE(store->Put("ab12", std::string(100'000, 'x'), now + 60s));
  EXPECT_EQ(store->Get("ab12", 100'000).value(), std::string(100'000, 'x'));
  EXPECT_FALSE(store->Get("ab12", 99'999));
  EXPECT_FALSE(store->Get("ab13", 10));
  EXPECT_EQ(open(), before);
}

}  // namespace
}  // namespace inferflux::session_store
