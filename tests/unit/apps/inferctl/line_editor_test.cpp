// The lines that a person types at a terminal: edits, pastes, keys that drop a line, and the history.
#include "apps/inferctl/chat/line_editor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "apps/inferctl/client/interrupt.h"
#include "apps/inferctl/pseudo_terminal.h"

namespace inferflux::apps {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// While it exists, this process is a group of its own: libedit's handler sends a signal on to its whole group. What
// reads and writes a controlling terminal meanwhile may be stopped; a PseudoTerminal is none.
class OwnGroup {
 public:
  OwnGroup() : usual_(::getpgrp()) {
    if (usual_ != ::getpid()) {
      EXPECT_EQ(::setpgid(0, 0), 0);
    }
  }
  ~OwnGroup() {
    if (usual_ != ::getpid()) ::setpgid(0, usual_);
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;

 private:
  const pid_t usual_;
};

class LineEditorTest : public ::testing::Test {
 protected:
  LineEditorTest() { fs::create_directories(folder_ / "state"); }
  ~LineEditorTest() override { fs::remove_all(folder_); }
  void SetUp() override {
    if (!PseudoTerminal::Available()) GTEST_SKIP() << "there are no pseudo terminals";
  }

  // The lines that these keys make, "^C" for a line that is dropped, in one session; what is seen goes to `seen_`.
  std::vector<std::string> Lines(const std::string& keys) {
    std::vector<std::string> out;
    const PseudoTerminal terminal({STDIN_FILENO, STDOUT_FILENO});
    terminal.Type(keys + "\x04");  // Ctrl-D
    {
      LineEditor editor;
      while (const auto line = editor.Read("> ")) {
        out.push_back(line->interrupted ? "^C" + line->text : line->text);
        seen_ += terminal.Seen();
      }
    }
    seen_ += terminal.Seen();
    return out;
  }
  std::vector<std::string> History() const {
    std::ifstream in(folder_ / "state" / "inferflux" / "history");
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("line_editor_" + std::to_string(::getpid()));
  const Variables variables_{{"HOME", folder_.string()},
                             {"XDG_STATE_HOME", (folder_ / "state").string()},
                             {"TERM", "xterm"},
                             {"LC_ALL", "POSIX"}};
  std::string seen_;
};

TEST_F(LineEditorTest, LinesAreEditedAsTheyAreTyped) {
  EXPECT_THAT(Lines("one\rtwi\x7fo\r\rw\xC3\xA4hle\x7f\x7f\x7f\x7fo\r"), ElementsAre("one", "two", "", "wo"))
      << "a letter is one key, whatever its bytes";
  EXPECT_THAT(seen_, HasSubstr("\033[?2004h> "));
  EXPECT_THAT(seen_, HasSubstr("one"));
  EXPECT_TRUE(seen_.ends_with("\033[?2004l\r\n")) << seen_;
}

TEST_F(LineEditorTest, APasteIsOneLineWithItsLineEnds) {
  const std::string begin = "\033[200~", end = "\033[201~";
  EXPECT_THAT(Lines("x" + begin + "a\rb\r\nc\n\rd" + end + "y\r" + begin + "\n\n" + end + "\rnext\r"),
              ElementsAre("xa\nb\nc\n\ndy", "\n\n", "next"));
}

TEST_F(LineEditorTest, CtrlCDropsTheLineAndNothingElse) {
  EXPECT_THAT(Lines("first\rnever sent\x03second\rab\033[D\x03third\r"),
              ElementsAre("first", "^C", "second", "^C", "third"));
  EXPECT_THAT(seen_, HasSubstr("\033[?2004l^C\r\n"));
  EXPECT_THAT(History(), ElementsAre("_HiStOrY_V2_", "first", "second", "third"));
}

TEST_F(LineEditorTest, FormerLinesComeBack) {
  EXPECT_THAT(Lines("one\rtwo\r\r\033[A\r"), ElementsAre("one", "two", "", "two")) << "an empty line is none of them";
  EXPECT_THAT(Lines("\033[A\033[A\033[A\r"), ElementsAre("one")) << "also in another session";
}

TEST_F(LineEditorTest, AThousandLinesAreKept) {
  fs::create_directories(folder_ / "state" / "inferflux");
  {
    std::ofstream file(folder_ / "state" / "inferflux" / "history");
    file << "_HiStOrY_V2_\n";
    for (int i = 0; i < 1000; ++i) file << "line" << i << '\n';
  }
  EXPECT_THAT(Lines("new\r"), ElementsAre("new"));
  const auto history = History();
  ASSERT_EQ(history.size(), 1001u);
  EXPECT_EQ(history[1], "line1");
  EXPECT_EQ(history[1000], "new");
}

TEST_F(LineEditorTest, TheHistoryIsBelowHomeUnlessNamed) {
  {
    const Variables none{{"XDG_STATE_HOME", ""}};
    EXPECT_THAT(Lines("at home\r"), ElementsAre("at home"));
    EXPECT_TRUE(fs::exists(folder_ / ".local" / "state" / "inferflux" / "history"));
  }
  EXPECT_TRUE(History().empty());
  const Variables nowhere{{"XDG_STATE_HOME", ""}, {"HOME", ""}};
  EXPECT_THAT(Lines("kept nowhere\r"), ElementsAre("kept nowhere"));
  std::ofstream(folder_ / "file") << "x";
  const Variables blocked{{"XDG_STATE_HOME", (folder_ / "file").string()}};
  EXPECT_THAT(Lines("kept nowhere\r"), ElementsAre("kept nowhere"));
}

TEST_F(LineEditorTest, APersonsOwnKeysAreTaken) {
  std::ofstream(folder_ / ".editrc") << "bind -s ^T typed\n";
  EXPECT_THAT(Lines("x\x14y\r"), ElementsAre("xtypedy"));
}

TEST_F(LineEditorTest, AnInterruptOfAnotherProgramDropsTheLine) {
  const InterruptScope keeps;
  std::optional<InputLine> dropped, next;
  {
    const OwnGroup group;
    const PseudoTerminal terminal({STDIN_FILENO, STDOUT_FILENO});
    LineEditor editor;
    std::atomic<bool> ended = false;
    std::thread other([&ended, here = ::pthread_self()] {
      sigset_t interrupt;
      sigemptyset(&interrupt);
      sigaddset(&interrupt, SIGINT);
      pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
      while (!ended) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        if (!ended) ::pthread_kill(here, SIGINT);
      }
    });
    dropped = editor.Read("> ");
    ended = true;
    other.join();
    terminal.Type("next\r");
    do {
      next = editor.Read("> ");  // an interrupt may have come late
    } while (next && next->interrupted);
  }
  ASSERT_TRUE(dropped && next);
  EXPECT_TRUE(dropped->interrupted);
  EXPECT_EQ(dropped->text, "");
  EXPECT_EQ(next->text, "next");
}

TEST_F(LineEditorTest, AStreamThatIsNoTerminalIsReadLineByLine) {
  std::istringstream input("one\n\xC3\xA4\n\nlast");
  for (const std::vector<int>& streams : {std::vector<int>{STDIN_FILENO}, {STDOUT_FILENO}}) {
    std::vector<std::string> lines;
    input.clear();
    input.seekg(0);
    std::streambuf* const usual = std::cin.rdbuf(input.rdbuf());
    {
      const NoInput nothing;
      ::testing::internal::CaptureStdout();
      const PseudoTerminal terminal(streams);
      LineEditor editor;
      while (const auto line = editor.Read("> ")) lines.push_back(line->text + (line->interrupted ? "^C" : ""));
      if (streams[0] == STDOUT_FILENO) {
        seen_ += terminal.Seen();
      }
    }
    seen_ += ::testing::internal::GetCapturedStdout();
    std::cin.rdbuf(usual);
    std::cin.clear();
    EXPECT_THAT(lines, ElementsAre("one", "\xC3\xA4", "", "last"));
  }
  EXPECT_EQ(seen_, "") << "a prompt is only for a terminal";
}

}  // namespace
}  // namespace inferflux::apps
