// The parts of every subcommand: flags that it adds to the command line, and a run function that returns the exit code.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "command_line/command_line.h"
#include "config/settings.h"

namespace inferflux::apps {

struct CommandContext {
  const config::Settings& settings;
  bool url_is_default = false;  // the user named no server
  bool url_is_flag = false;     // the user named one on this command line
  bool json = false;            // print JSON
};

using Run = std::function<int(const CommandContext&)>;

// Each adds its subcommand to `app` and returns its run function, which owns the flags.
Run AddAdmin(Command& app);
Run AddBackends(Command& app);
Run AddBench(Command& app);
Run AddChat(Command& app);
Run AddComplete(Command& app);
Run AddKeys(Command& app);
Run AddList(Command& app);
Run AddModels(Command& app);
Run AddParity(Command& app);
Run AddPs(Command& app);
Run AddQuickstart(Command& app);
Run AddRm(Command& app);
Run AddRun(Command& app);
Run AddShow(Command& app);
Run AddStatus(Command& app);
Run AddStop(Command& app);
Run AddTemplate(Command& app);
Run AddTokenize(Command& app);
Run AddWorkers(Command& app);

// Prints "inferctl: MESSAGE" on standard error; returns `code`.
int Complain(const std::string& message, int code = kFailed);
// The same for an Error, with the matching exit code.
int Complain(const Error& error);

}  // namespace inferflux::apps
