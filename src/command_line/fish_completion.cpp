#include <fmt/format.h>

#include "command_line/description.h"

namespace inferflux {
namespace {

std::string FishQuoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// "-l url", "-s c", and for several letters after one dash "-o ngl".
std::string FlagOf(const std::string& name) {
  if (name.starts_with("--")) return "-l " + name.substr(2);
  return (name.size() == 2 ? "-s " : "-o ") + name.substr(1);
}

void FishAddOption(const std::string& line, const OptionDescription& option, std::string& out) {
  out += line;
  for (const std::string& name : option.names) out += " " + FlagOf(name);
  if (!option.value.empty()) out += option.takes_file ? " -rF" : " -x";
  if (!option.choices.empty()) out += " -a " + FishQuoted(fmt::format("{}", fmt::join(option.choices, " ")));
  out += " -d " + FishQuoted(option.help) + "\n";
}

// `seen`: the condition under which this command is the one that is typed.
void FishAddCommand(const std::string& program, const CommandDescription& command, const std::string& seen,
                    std::string& out) {
  const std::string line = "complete -c " + program + (seen.empty() ? "" : " -n " + FishQuoted(seen));
  for (const OptionDescription& option : command.options) FishAddOption(line, option, out);
  std::vector<std::string> names;
  for (const CommandDescription& each : command.commands) names.push_back(each.name);
  const std::string none = fmt::format("not __fish_seen_subcommand_from {}", fmt::join(names, " "));
  for (const CommandDescription& each : command.commands) {
    const std::string here = seen.empty() ? none : seen + "; and " + none;
    out += fmt::format("complete -c {} -n {} -f -a {} -d {}\n", program, FishQuoted(here), each.name,
                       FishQuoted(each.about.substr(0, each.about.find('\n'))));
    const std::string inner = "__fish_seen_subcommand_from " + each.name;
    FishAddCommand(program, each, seen.empty() ? inner : seen + "; and " + inner, out);
  }
}

}  // namespace

std::string FishCompletion(const CommandDescription& program) {
  std::string out = fmt::format("# fish completion for {}\n", program.name);
  FishAddCommand(program.name, program, "", out);
  return out;
}

}  // namespace inferflux
