// What the programs' exit codes mean: the one table for code, help, man pages and docs/cli.md.
#pragma once

#include <string>
#include <string_view>

namespace inferflux {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsageError = 2;
inline constexpr int kNoServer = 3;
inline constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells have it

struct ExitCode {
  int code;
  std::string_view word;
  std::string_view meaning;
};
inline constexpr ExitCode kExitCodes[] = {
    {kOk, "done", "it did what was asked"},
    {kFailed, "failed", "the server refused, a file is missing or broken, a check found a difference"},
    {kUsageError, "wrong usage", "an unknown flag or command, or a value that is not allowed"},
    {kNoServer, "no server answers", "nothing listens at the address, or it ended in the middle of an answer"},
    {kInterrupted, "interrupted", "by Ctrl-C"},
};

// "0 done, 1 failed, ..."
inline std::string ExitCodesLine() {
  std::string out;
  for (const ExitCode& each : kExitCodes) {
    out += (out.empty() ? "" : ", ") + std::to_string(each.code) + " " + std::string(each.word);
  }
  return out;
}

}  // namespace inferflux
