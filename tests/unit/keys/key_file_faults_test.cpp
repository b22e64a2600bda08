// A full disk under the key file, and a signal while another program changes it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "keys/key_file.h"
#include "session_store/file_limit.h"

namespace inferflux::keys {
namespace {

namespace fs = std::filesystem;
using testing::FileLimit;

struct KeyFileFaults : ::testing::Test {
  KeyFileFaults() {
    std::string pattern = (fs::temp_directory_path() / "inferflux_key_faults_XXXXXX").string();
    folder = fs::canonical(::mkdtemp(pattern.data()));
    path = (folder / "keys").string();
  }
  ~KeyFileFaults() override { fs::remove_all(folder); }
  std::string Text() const {
    std::stringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }

  fs::path folder;
  std::string path;
};

TEST_F(KeyFileFaults, AKeyForWhichThereIsNoRoomChangesNothing) {
  ASSERT_TRUE(CreateKey(path, "first", kUsualScopes, std::nullopt));
  const std::string before = Text();
  for (const rlim_t room : {rlim_t{0}, static_cast<rlim_t>(before.size() + 10)}) {
    std::string why;
    {
      const FileLimit limit(room);
      const auto made = CreateKey(path, "second", kUsualScopes, std::nullopt);
      why = made ? "" : made.error().message;
    }
    EXPECT_EQ(why, "cannot write " + path + (room == 0 ? ": File too large" : ": No space left on device"));
    EXPECT_EQ(Text(), before);
    EXPECT_FALSE(fs::exists(path + ".partial"));
  }
}

TEST_F(KeyFileFaults, AnErrorOfSomethingBeforeIsNotTheirs) {
  for (const int before : {ENOENT, EINTR, EDOM}) {
    errno = before;
    const auto made = CreateKey(path, "ci", kUsualScopes, std::nullopt);
    EXPECT_TRUE(made) << made.error().message;
    errno = before;
    EXPECT_EQ(RevokeKey(path, "ci").value_or(0), 1);
  }
}

TEST_F(KeyFileFaults, ASignalDoesNotEndTheWaitForAnotherProgram) {
  struct sigaction quiet {};
  struct sigaction old {};
  quiet.sa_handler = [](int) {};  // without SA_RESTART: it interrupts what waits
  ASSERT_EQ(::sigaction(SIGUSR1, &quiet, &old), 0);
  const int other = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  std::atomic<bool> done = false;
  std::string why = "it did not end";
  std::thread maker([&] {
    const auto made = CreateKey(path, "ci", kUsualScopes, std::nullopt);
    why = made ? "" : made.error().message;
    done = true;
  });
  for (int i = 0; i < 100 && !done; ++i) {
    ::pthread_kill(maker.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(done) << "the other program has the folder";
  EXPECT_EQ(::flock(other, LOCK_UN), 0);
  maker.join();
  ::close(other);
  ::sigaction(SIGUSR1, &old, nullptr);
  EXPECT_EQ(why, "");
  EXPECT_EQ(ReadKeyFile(path)->size(), 1u);
}

}  // namespace
}  // namespace inferflux::keys
