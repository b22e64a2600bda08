#include "base/file_faults/file_faults.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/mapped_file.h"

namespace inferflux {
namespace {

namespace fs = std::filesystem;

class FileFaultsTest : public ::testing::Test {
 protected:
  FileFaultsTest() {
    std::string pattern = (fs::temp_directory_path() / "inferflux_faults_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FileFaultsTest() override { fs::remove_all(folder_); }

  std::string Make(const std::string& name, size_t bytes) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << std::string(bytes, 'x');
    return path;
  }

  static int Sum(const MappedFile& file) {
    int out = 0;
    for (const std::byte byte : file.bytes()) out += std::to_integer<int>(byte) == 'x' ? 1 : 0;
    return out;
  }

  fs::path folder_;
};

TEST_F(FileFaultsTest, WhatATruncatedFileHasLostReadsAsZerosAndIsRemembered) {
  const std::string path = Make("model.gguf", 100'000);
  const std::string other = Make("other.gguf", 100'000);
  const uint64_t before = FileFaults();
  const auto file = MappedFile::Open(path);
  const auto kept = MappedFile::Open(other);
  ASSERT_TRUE(file && kept);
  fs::resize_file(path, 8192);
  EXPECT_EQ(Sum(**file), 8192);
  EXPECT_EQ(Sum(**kept), 100'000) << "others are whole";
  EXPECT_EQ(FileFaults(), before + 1) << "one fault for all that was lost";
  EXPECT_EQ(FaultedFile(path, before), path);
  EXPECT_EQ(FaultedFile(folder_.string(), before), path) << "a model may be a folder";
  EXPECT_EQ(FaultedFile(other, before), "");
  EXPECT_EQ(FaultedFile(path, FileFaults()), "") << "a model that is loaded again is whole";
}

TEST_F(FileFaultsTest, AFileIsNotBlamedForTheOneThatWasThereBefore) {
  const std::string path = Make("model.gguf", 100'000);
  const std::string next = Make("next.gguf", 100'000);
  const uint64_t before = FileFaults();
  {
    const auto file = MappedFile::Open(path);
    ASSERT_TRUE(file);
    fs::resize_file(path, 8192);
    EXPECT_EQ(Sum(**file), 8192);
  }
  const auto file = MappedFile::Open(next);
  ASSERT_TRUE(file);
  EXPECT_EQ(Sum(**file), 100'000);
  EXPECT_EQ(FaultedFile(next, before), "");
  EXPECT_EQ(FaultedFile(path, before), path);
}

TEST_F(FileFaultsTest, AFaultIsRememberedWhenTheFileIsClosed) {
  const std::string path = Make("a-00002-of-00003.gguf", 50'000);
  const uint64_t before = FileFaults();
  {
    const auto file = MappedFile::Open(path);
    fs::resize_file(path, 0);
    EXPECT_EQ(Sum(**file), 0);
  }
  EXPECT_EQ(FaultedFile(path, before), path);
  EXPECT_EQ(FaultedFile((folder_ / "a-00001-of-00003.gguf").string(), before), path) << "a part of the model";
}

TEST_F(FileFaultsTest, ManyThreadsMayFaultAtOnce) {
  const std::string path = Make("model.gguf", 4'000'000);
  const auto file = MappedFile::Open(path);
  fs::resize_file(path, 4096);
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) readers.emplace_back([&] { EXPECT_EQ(Sum(**file), 4096); });
  for (std::thread& reader : readers) reader.join();
}

TEST_F(FileFaultsTest, MappingsOfALibraryCanBeGuardedToo) {
  const std::string path = Make("model.gguf", 100'000);
  const uint64_t before = FileFaults();
  const int fd = ::open(path.c_str(), O_RDONLY);
  void* const data = ::mmap(nullptr, 100'000, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  ASSERT_NE(data, MAP_FAILED);
  const auto guards = GuardMappingsOf(path);
  ASSERT_EQ(guards.size(), 1u);
  fs::resize_file(path, 10);
  EXPECT_EQ(static_cast<const char*>(data)[90'000], 0);
  EXPECT_EQ(FaultedFile(path, before), path);
  ::munmap(data, 100'000);
}

TEST_F(FileFaultsTest, OnlyTheMappingsOfThatFileAreGuardedAndAllOfThem) {
  const std::string path = Make("model.gguf", 100'000), longer = Make("model.gguf2", 100'000);
  const auto map = [](const std::string& file) {
    const int fd = ::open(file.c_str(), O_RDONLY);
    void* const out = ::mmap(nullptr, 100'000, PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    EXPECT_NE(out, MAP_FAILED);
    return static_cast<const volatile char*>(out);
  };
  const volatile char* maps[] = {map(path), map(longer), map(path)};
  EXPECT_EQ(GuardMappingsOf(folder_ / "none").size(), 0u);
  EXPECT_EQ(GuardMappingsOf(folder_).size(), 0u) << "a folder is not mapped";
  const uint64_t before = FileFaults();
  const auto guards = GuardMappingsOf((folder_ / "." / "model.gguf").string());
  ASSERT_EQ(guards.size(), 2u);
  fs::resize_file(path, 10);
  for (const volatile char* data : {maps[0], maps[2]}) {
    EXPECT_EQ(data[9], 'x');
    EXPECT_EQ(data[99'999], 0);
  }
  EXPECT_EQ(FileFaults(), before + 2);
  EXPECT_EQ(FaultedFile(folder_.string(), before), (folder_ / "." / "model.gguf").string()) << "as it was given";
  for (const volatile char* data : maps) ::munmap(const_cast<char*>(data), 100'000);
}

bool EndedByTheSignal(int status) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return status != 0;  // a sanitizer ends it in its own way
#else
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
#endif
}

TEST_F(FileFaultsTest, AnotherBusErrorStillEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::string path = Make("model.gguf", 100'000);
        const auto guarded = MappedFile::Open(path);  // installs the handler
        const std::string other = Make("other", 100'000);
        const int fd = ::open(other.c_str(), O_RDONLY);
        const auto* data = static_cast<const volatile char*>(::mmap(nullptr, 100'000, PROT_READ, MAP_SHARED, fd, 0));
        fs::resize_file(other, 0);
        std::_Exit(data[50'000]);
      },
      EndedByTheSignal, "");
}

TEST_F(FileFaultsTest, AFifoIsRefusedWithoutWaitingForAWriter) {
  const std::string path = (folder_ / "fifo").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto file = MappedFile::Open(path);
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace inferflux
