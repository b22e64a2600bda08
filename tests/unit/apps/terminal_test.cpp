// What a person at a terminal sees and answers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/console/may_write.h"
#include "apps/console/progress_bar.h"

namespace inferflux::apps {
namespace {

// Standard input and standard error are a terminal while it exists.
class Terminal {
 public:
  Terminal() : person_(::posix_openpt(O_RDWR | O_NOCTTY)), input_(::dup(STDIN_FILENO)), error_(::dup(STDERR_FILENO)) {
    EXPECT_TRUE(::grantpt(person_) == 0 && ::unlockpt(person_) == 0);
    const int program = ::open(::ptsname(person_), O_RDWR | O_NOCTTY);
    std::fflush(stderr);
    ::dup2(program, STDIN_FILENO);
    ::dup2(program, STDERR_FILENO);
    ::close(program);
  }
  ~Terminal() {
    std::fflush(stderr);
    ::dup2(input_, STDIN_FILENO);
    ::dup2(error_, STDERR_FILENO);
    for (const int descriptor : {input_, error_, person_}) ::close(descriptor);
  }

  void Type(const std::string& text) { EXPECT_EQ(::write(person_, text.data(), text.size()), std::ssize(text)); }
  // What has been written since the last call.
  std::string Seen() {
    ::fcntl(person_, F_SETFL, O_NONBLOCK);
    std::string out;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(person_, buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<size_t>(size));
    return out;
  }

 private:
  int person_, input_, error_;
};

TEST(ProgressBarTest, ItIsDrawnAtMostTenTimesASecondAndAtTheEnd) {
  std::vector<std::string> seen;
  {
    Terminal terminal;
    ProgressBar bar;
    const auto show = [&](uint64_t done, uint64_t total, const std::string& what) {
      bar.Show(done, total, what);
      seen.push_back(terminal.Seen());
    };
    show(1, 4, std::string(41, 'x'));
    show(2, 4, "too soon");
    show(4, 4, "the end");
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    show(1, 60, "later");
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    show(0, 0, "nothing to do");
    bar.Clear();
    seen.push_back(terminal.Seen());
  }
  const std::string begin = "\r\033[K";
  const std::vector<std::string> expected = {
      begin + "[#######.......................]  25%     0 s left  " + std::string(40, 'x') + "\r",
      "",
      begin + "[##############################] 100%     0 s left  the end\r",
      begin + "[..............................]   2%               later\r",
      begin + "[##############################] 100%     0 s left  nothing to do\r",
      begin};
  EXPECT_EQ(seen, expected);
}

TEST(ProgressBarTest, WithoutATerminalThereIsNone) {
  ::testing::internal::CaptureStderr();
  ProgressBar bar;
  bar.Show(1, 4, "x");
  bar.Show(4, 4, "x");
  bar.Clear();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(MayWriteTest, AFileThatIsThereIsReplacedIfThePersonAgrees) {
  const std::string path = ::testing::TempDir() + "may_write_" + std::to_string(::getpid());
  EXPECT_TRUE(MayWrite(path, false)) << "nothing is there";
  std::ofstream(path) << "x";
  EXPECT_TRUE(MayWrite(path, true));
  std::vector<std::pair<std::string, std::string>> answers;
  {
    Terminal terminal;
    for (const char* answer : {"y", "Y", "yes", "n", "", "Yes"}) {
      terminal.Type(std::string(answer) + "\n");
      const Status allowed = MayWrite(path, false);
      answers.emplace_back(answer, allowed ? "replaced" : allowed.error().message);
      EXPECT_TRUE(allowed || allowed.error().code == ErrorCode::kCancelled);
      EXPECT_NE(terminal.Seen().find(path + " is there already. Replace it? [y/N] "), std::string::npos);
    }
  }
  const std::string stays = path + " stays as it is";
  EXPECT_EQ(answers,
            (std::vector<std::pair<std::string, std::string>>{
                {"y", "replaced"}, {"Y", "replaced"}, {"yes", "replaced"}, {"n", stays}, {"", stays}, {"Yes", stays}}));
  ::testing::internal::CaptureStderr();
  const Status refused = MayWrite(path, false);
  ::testing::internal::GetCapturedStderr();
  std::remove(path.c_str());
  ASSERT_FALSE(refused) << "there is no terminal to ask at";
  EXPECT_EQ(refused.error().message, path + " is there already: --force replaces it, or name another file");
}

}  // namespace
}  // namespace inferflux::apps
