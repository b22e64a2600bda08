// A program's command line: options, positional words and subcommands, their help, and errors that name what is wrong.
// It hides CLI11, whose headers add a second and more to every file that includes them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "command_line/description.h"
#include "command_line/exit_codes.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace inferflux {

// One option or positional word of a command, for further settings. Lives as long as its command line.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option& option) : option_(option) {}

  // The placeholder for its value in the help: FILE, N.
  CommandOption& Shown(const std::string& as);
  CommandOption& Required();
  // Refuses values outside the range.
  CommandOption& Between(int least, int most);
  CommandOption& Between(double least, double most);
  CommandOption& OneOf(const std::vector<std::string>& words);
  // Shows the value that it has when it is added, in the help.
  CommandOption& ShowsDefault();
  // A list with values separated by commas.
  CommandOption& SplitAtCommas();
  // A list with one value for each use; words after the value are not part of it.
  CommandOption& OneEachTime();
  CommandOption& Needs(const CommandOption& other);
  CommandOption& Excludes(const CommandOption& other);

  // Whether the parsed command line contains it.
  bool given() const;

 private:
  CLI::Option& option_;
};

// A program, or one of its subcommands. The targets that options write to must outlive the parse.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  // `names`: "-m,--model" for an option, "MODEL" for a positional word.
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
  // An option that passes its value to `take`.
  CommandOption Add(const std::string& names, std::function<void(const std::string&)> take, const std::string& help);
  // Takes no value: true if given; with '!' before its name, false.
  CommandOption AddFlag(const std::string& names, bool& value, const std::string& help);

  Command AddCommand(const std::string& name, const std::string& help);
  // Makes it an error to give no subcommand.
  void RequireCommand();
  // The given subcommand, or empty.
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

  // Another way to write an option that was added: `typed` ("-ngl", "--ctx-size") stands for `option` ("--gpu-layers").
  // Unlike an option's own names it may be several letters after one dash.
  void AddSpelling(const std::string& typed, const std::string& option);

  // Adds --print-completion SHELL and --print-man.
  void AddPrinters();
  CommandDescription Describe() const;

  // Parses, and writes to the targets of the options. Returns the text to print before the program ends if --help or
  // --version was given, otherwise nothing. Errors: kInvalidArgument, which names the option or word and, if it is
  // unknown, the nearest known one.
  Result<std::optional<std::string>> Parse(const std::vector<std::string>& words);

  // The same for a whole program: prints the text, or the error as "PROGRAM: ...". Returns the exit code if the program
  // is to end.
  std::optional<int> Parse(int argc, const char* const* argv);

 private:
  CommandLine(std::unique_ptr<CLI::App> app, const std::string& version);
  Status RejectUnknown() const;

  std::vector<std::string> Respelled(const std::vector<std::string>& words) const;

  std::unique_ptr<CLI::App> owned_;
  std::string version_;
  std::vector<std::pair<std::string, std::string>> spellings_;  // what is typed, and the option
};

}  // namespace inferflux
