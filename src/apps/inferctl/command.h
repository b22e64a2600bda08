// What every subcommand is: flags that it adds to the command line, and a run that returns the exit code.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "command_line/command_line.h"
#include "config/settings.h"

namespace inferflux::apps {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;    // the thing itself went wrong: the server refused, a file is broken
inline constexpr int kNoServer = 3;  // nothing answers at the address
inline constexpr int kInterrupted = 130;

struct CommandContext {
  const config::Settings& settings;
  bool url_is_default = false;  // nobody named a server
};

using Run = std::function<int(const CommandContext&)>;

// Each adds its subcommand to `app` and returns what runs it; the flags are kept by what is returned.
Run AddAdmin(Command& app);
Run AddBackends(Command& app);
Run AddBench(Command& app);
Run AddChat(Command& app);
Run AddComplete(Command& app);
Run AddModels(Command& app);
Run AddParity(Command& app);
Run AddQuickstart(Command& app);
Run AddStatus(Command& app);
Run AddTokenize(Command& app);
Run AddTemplate(Command& app);

// "inferctl: MESSAGE" on standard error; returns `code`.
int Complain(const std::string& message, int code = kFailed);
// The same for an error of ours, with the exit code that fits it.
int Complain(const Error& error);

}  // namespace inferflux::apps
