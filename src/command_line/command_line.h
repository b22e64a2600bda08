// A program's command line: options, words and subcommands, their help, and errors that name what is wrong. It stands
// before CLI11, whose headers take a second and more to compile wherever they are included.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace inferflux {

inline constexpr int kUsageError = 2;  // the exit code where a command line is wrong

// One option or word of a command, to say more about. Lives as long as the command line that it is part of.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option& option) : option_(option) {}

  // What stands for its value in the help: FILE, N.
  CommandOption& Shown(const std::string& as);
  CommandOption& Required();
  // Values outside are refused.
  CommandOption& Between(int least, int most);
  CommandOption& Between(double least, double most);
  CommandOption& OneOf(const std::vector<std::string>& words);
  // The value that it has when it is added is shown in the help.
  CommandOption& ShowsDefault();
  // A list whose values stand between commas.
  CommandOption& SplitAtCommas();
  // A list of which each use gives one: words after it belong to others.
  CommandOption& OneEachTime();
  CommandOption& Needs(const CommandOption& other);
  CommandOption& Excludes(const CommandOption& other);

  // Whether the command line that was parsed has it.
  bool given() const;

 private:
  CLI::Option& option_;
};

// A program, or a subcommand of it. What options write to must outlive the parse.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  // `names`: "-m,--model" for an option, "MODEL" for a word at its place.
  CommandOption Add(const std::string& names, std::string& value, const std::string& help);
  CommandOption Add(const std::string& names, int& value, const std::string& help);
  CommandOption Add(const std::string& names, int64_t& value, const std::string& help);
  CommandOption Add(const std::string& names, uint64_t& value, const std::string& help);
  CommandOption Add(const std::string& names, double& value, const std::string& help);
  CommandOption Add(const std::string& names, std::optional<std::string>& value, const std::string& help);
  CommandOption Add(const std::string& names, std::optional<int64_t>& value, const std::string& help);
  CommandOption Add(const std::string& names, std::optional<double>& value, const std::string& help);
  CommandOption Add(const std::string& names, std::vector<std::string>& values, const std::string& help);
  CommandOption Add(const std::string& names, std::vector<int>& values, const std::string& help);
  // An option whose value is handed to `take`.
  CommandOption Add(const std::string& names, std::function<void(const std::string&)> take, const std::string& help);
  // Without a value: true once given, or with a '!' before its name false.
  CommandOption AddFlag(const std::string& names, bool& value, const std::string& help);

  Command AddCommand(const std::string& name, const std::string& help);
  // It is an error to give none of its subcommands.
  void RequireCommand();
  // The subcommand that was given; empty where none was.
  std::string chosen() const;

 protected:
  CLI::App* app_;
};

class CommandLine : public Command {
 public:
  // Without a version there is no --version.
  CommandLine(const std::string& program, const std::string& about, const std::string& version = {});
  ~CommandLine();

  // Text at the end of --help.
  void SetFooter(const std::string& text);

  // Fills what the options write to. The text to print before the program ends where --help or --version was given,
  // else none. Errors: kInvalidArgument, which names the option or word; the nearest one that there is, where it is
  // not known.
  Result<std::optional<std::string>> Parse(const std::vector<std::string>& words);

  // The same for a whole program: prints that text, or the error as "PROGRAM: ...". The exit code where the program
  // is to end.
  std::optional<int> Parse(int argc, const char* const* argv);

 private:
  CommandLine(std::unique_ptr<CLI::App> app, const std::string& version);
  Status RejectUnknown() const;

  std::unique_ptr<CLI::App> owned_;
};

}  // namespace inferflux
