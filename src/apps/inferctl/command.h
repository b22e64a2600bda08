// What every subcommand is: flags that it adds to the command line, and a run that returns the exit code.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "config/settings.h"

namespace CLI {
class App;
}

namespace inferflux::apps {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;      // the thing itself went wrong: the server refused, a file is broken
inline constexpr int kUsageError = 2;  // the command line is wrong
inline constexpr int kNoServer = 3;    // nothing answers at the address
inline constexpr int kInterrupted = 130;

struct CommandContext {
  const config::Settings& settings;
  bool url_is_default = false;  // nobody named a server
};

using Run = std::function<int(const CommandContext&)>;

// Each adds its subcommand to `app` and returns what runs it; the flags are kept by what is returned.
Run AddAdmin(CLI::App& app);
Run AddBackends(CLI::App& app);
Run AddBench(CLI::App& app);
Run AddChat(CLI::App& app);
Run AddComplete(CLI::App& app);
Run AddModels(CLI::App& app);
Run AddParity(CLI::App& app);
Run AddQuickstart(CLI::App& app);
Run AddStatus(CLI::App& app);
Run AddTokenize(CLI::App& app);
Run AddTemplate(CLI::App& app);

// "inferctl: MESSAGE" on standard error; returns `code`.
int Complain(const std::string& message, int code = kFailed);
// The same for an error of ours, with the exit code that fits it.
int Complain(const Error& error);

}  // namespace inferflux::apps
