// Runs the main function of a program in this process.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace inferflux::apps {

struct Ended {
  std::string out, err;  // standard output and standard error
  int code;
};

inline Ended RunMain(int (*main)(int, char**), std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = main(static_cast<int>(argv.size()), argv.data());
  std::string out = ::testing::internal::GetCapturedStdout();
  return {std::move(out), ::testing::internal::GetCapturedStderr(), code};
}

// Standard output, "|", standard error, "|", and the exit code.
inline std::string Ran(int (*main)(int, char**), std::vector<std::string> words) {
  const Ended ended = RunMain(main, std::move(words));
  return ended.out + "|" + ended.err + "|" + std::to_string(ended.code);
}

}  // namespace inferflux::apps
