// A terminal with a person at it, in place of standard streams while it exists.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace inferflux::apps {

// What libedit and the terminal's library allocate and keep is not ours to free: names of functions, a terminal's
// entry.
class TerminalAllocations {
 public:
#ifdef __SANITIZE_ADDRESS__
  TerminalAllocations() { __lsan_disable(); }
  ~TerminalAllocations() { __lsan_enable(); }
#else
  TerminalAllocations() {}
#endif
};

class PseudoTerminal {
 public:
  // Whether the system has one; a test that needs it is skipped otherwise.
  static bool Available() {
    const int one = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (one >= 0) ::close(one);
    return one >= 0;
  }
  // `streams`: of STDIN_FILENO, STDOUT_FILENO and STDERR_FILENO. No key has a meaning of its own before the program
  // gives it one, so that all of them may be typed at the start.
  explicit PseudoTerminal(const std::vector<int>& streams) : person_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    EXPECT_TRUE(::grantpt(person_) == 0 && ::unlockpt(person_) == 0);
    program_ = ::open(::ptsname(person_), O_RDWR | O_NOCTTY);
    termios keys{};
    ::tcgetattr(program_, &keys);
    ::cfmakeraw(&keys);
    ::tcsetattr(program_, TCSANOW, &keys);
    Flush();
    for (const int stream : streams) {
      usual_.emplace_back(stream, ::dup(stream));
      ::dup2(program_, stream);
    }
  }
  ~PseudoTerminal() {
    Flush();
    for (const auto& [stream, usual] : usual_) {
      ::dup2(usual, stream);
      ::close(usual);
    }
    ::close(program_);
    ::close(person_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  // Waits until all keys can be read, and fails after 20 s. The program must not read meanwhile.
  void Type(const std::string& text) const {
    EXPECT_EQ(::write(person_, text.data(), text.size()), std::ssize(text));
    int there = 0;
    for (int i = 0; i < 20'000; ++i) {
      ::ioctl(program_, FIONREAD, &there);
      if (there >= std::ssize(text)) return;
      ::usleep(1000);
    }
    ADD_FAILURE() << there << " of " << text.size() << " keys have arrived";
  }
  // What has been written since the last call.
  std::string Seen() const {
    Flush();
    ::fcntl(person_, F_SETFL, O_NONBLOCK);
    std::string out;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(person_, buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<size_t>(size));
    ::fcntl(person_, F_SETFL, 0);
    return out;
  }

 private:
  static void Flush() {
    std::cout.flush();
    std::fflush(stdout);
    std::fflush(stderr);
  }

  const TerminalAllocations kept_;
  int person_, program_ = -1;
  std::vector<std::pair<int, int>> usual_;  // a stream, and what it was
};

// Standard input is empty and no terminal.
class NoInput {
 public:
  NoInput() : usual_(::dup(STDIN_FILENO)) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
  }
  ~NoInput() {
    ::dup2(usual_, STDIN_FILENO);
    ::close(usual_);
  }
  NoInput(const NoInput&) = delete;
  NoInput& operator=(const NoInput&) = delete;

 private:
  int usual_;
};

// Variables of the environment while it exists.
class Variables {
 public:
  Variables(std::initializer_list<std::pair<std::string, std::string>> values) {
    for (const auto& [name, value] : values) {
      const char* was = std::getenv(name.c_str());
      usual_.emplace_back(name, was == nullptr ? std::pair(false, std::string()) : std::pair(true, std::string(was)));
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ~Variables() {
    for (const auto& [name, was] : usual_) {
      if (was.first) {
        ::setenv(name.c_str(), was.second.c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::vector<std::pair<std::string, std::pair<bool, std::string>>> usual_;
};

}  // namespace inferflux::apps
