// A command line as data: what completions and man pages are made from. There is no second list of options.
#pragma once

#include <string>
#include <vector>

namespace inferflux {

struct OptionDescription {
  std::vector<std::string> names;  // "--url", "-c", and other spellings such as "-ngl"; empty: a word
  std::string value;               // its placeholder, FILE; empty: it takes none
  std::string help;
  std::vector<std::string> choices;  // the values that it takes; empty: any
  bool takes_file = false;
  bool required = false;
  bool repeats = false;
};

struct CommandDescription {
  std::string name;
  std::string about;
  std::string footer;
  std::vector<OptionDescription> options;
  std::vector<OptionDescription> words;  // in order; `value` is the name
  std::vector<CommandDescription> commands;
};

// The program's options that its commands take too: all but --help, which each has, and --version.
std::vector<OptionDescription> SharedOptions(const CommandDescription& program);

// Scripts for shells. Each completes commands, options, their choices and files.
std::string BashCompletion(const CommandDescription& program);
std::string ZshCompletion(const CommandDescription& program);
std::string FishCompletion(const CommandDescription& program);

// A page of section 1 in roff, with the macros of man(7).
std::string ManPage(const CommandDescription& program, const std::string& version);

}  // namespace inferflux
