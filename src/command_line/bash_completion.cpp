#include <fmt/format.h>

#include "command_line/description.h"

namespace inferflux {
namespace {

// In single quotes, which only a single quote ends.
std::string BashQuoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string BashJoined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

// The rows of "which command is this": `path word` leads to a longer path.
void BashAddCommands(const CommandDescription& command, const std::string& path, std::string& out) {
  for (const CommandDescription& each : command.commands) {
    const std::string inner = path + " " + each.name;
    out += fmt::format("      {}) path={} ;;\n", BashQuoted(inner), BashQuoted(inner));
    BashAddCommands(each, inner, out);
  }
}

// The names of options that take a value: the next word is no command.
void AddValued(const CommandDescription& command, std::vector<std::string>& out) {
  for (const OptionDescription& option : command.options) {
    if (!option.value.empty()) out.insert(out.end(), option.names.begin(), option.names.end());
  }
  for (const CommandDescription& each : command.commands) AddValued(each, out);
}

// What may follow an option. `path` ends in '*' for the program's own options, which work in every command.
void AddValues(const CommandDescription& command, const std::string& path, std::string& out) {
  for (const OptionDescription& option : command.options) {
    if (option.value.empty()) continue;
    std::vector<std::string> cases;
    for (const std::string& name : option.names) {
      cases.push_back(path.empty() ? "*" + BashQuoted(":" + name) : BashQuoted(path + ":" + name));
    }
    const std::string what = option.choices.empty() ? "-f" : "-W " + BashQuoted(BashJoined(option.choices, " "));
    const std::string reply = option.choices.empty() && !option.takes_file
                                  ? ""
                                  : fmt::format("COMPREPLY=($(compgen {} -- \"$cur\")); ", what);
    out += fmt::format("    {}) {}return ;;\n", BashJoined(cases, "|"), reply);
  }
}

void AddAllValues(const CommandDescription& command, const std::string& path, std::string& out) {
  for (const CommandDescription& each : command.commands) {
    AddValues(each, path + " " + each.name, out);
    AddAllValues(each, path + " " + each.name, out);
  }
}

std::vector<std::string> WordsOf(const CommandDescription& command) {
  std::vector<std::string> out;
  for (const CommandDescription& each : command.commands) out.push_back(each.name);
  for (const OptionDescription& option : command.options) {
    out.insert(out.end(), option.names.begin(), option.names.end());
  }
  for (const OptionDescription& word : command.words) {
    out.insert(out.end(), word.choices.begin(), word.choices.end());
  }
  return out;
}

void AddWords(const CommandDescription& command, const std::string& path, std::string& out) {
  out += fmt::format("    {}) words={} ;;\n", BashQuoted(path), BashQuoted(BashJoined(WordsOf(command), " ")));
  for (const CommandDescription& each : command.commands) AddWords(each, path + " " + each.name, out);
}

}  // namespace

std::string BashCompletion(const CommandDescription& program) {
  std::string function = "_" + program.name;
  for (char& c : function) c = c == '-' ? '_' : c;
  std::vector<std::string> valued;
  AddValued(program, valued);
  std::string commands, values, words;
  BashAddCommands(program, program.name, commands);
  AddAllValues(program, program.name, values);
  AddValues(program, "", values);
  AddWords(program, program.name, words);
  std::string own;  // options of the program, which work in every command
  for (const OptionDescription& option : SharedOptions(program)) own += BashJoined(option.names, " ") + " ";
  return fmt::format(
      R"(# bash completion for {0}
{1}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} path={2} words i
  COMPREPLY=()
  # "--option=value" comes as three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      {3}) ((i++)); continue ;;
    esac
    case "$path ${{COMP_WORDS[i]}}" in
{4}    esac
  done
  case "$path:$prev" in
{5}  esac
  case $path in
{6}  esac
  [[ $path == {2} ]] || words+=" "{7}
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -o bashdefault -F {1} {0}
)",
      program.name, function, BashQuoted(program.name), BashJoined(valued, "|"), commands, values, words,
      BashQuoted(own));
}

}  // namespace inferflux
