#include <fmt/format.h>

#include <string_view>

#include "command_line/description.h"

namespace inferflux {
namespace {

// For a specification of _arguments inside single quotes.
std::string ZshEscaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      if (std::string_view("[]:\\").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string ActionOf(const OptionDescription& option) {
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  return option.takes_file ? "_files" : " ";
}

void ZshAddOption(const OptionDescription& option, std::string& out) {
  for (const std::string& name : option.names) {
    const std::string value =
        option.value.empty() ? "" : fmt::format(":{}:{}", ZshEscaped(option.value), ActionOf(option));
    out += fmt::format("    '{}{}[{}]{}' \\\n", option.repeats ? "*" : "", name, ZshEscaped(option.help), value);
  }
}

std::string FunctionOf(const std::string& path) {
  std::string out = "_" + path;
  for (char& c : out) c = c == ' ' || c == '-' ? '_' : c;
  return out;
}

// One function a command: its own options, then the program's, then its words or its commands.
void AddFunction(const CommandDescription& program, const CommandDescription& command, const std::string& path,
                 std::string& out) {
  const std::string function = FunctionOf(path);
  out += function + "() {\n  local context state line\n  typeset -A opt_args\n  _arguments -C \\\n";
  for (const OptionDescription& option : command.options) ZshAddOption(option, out);
  if (&program != &command) {
    for (const OptionDescription& option : SharedOptions(program)) ZshAddOption(option, out);
  }
  if (!command.commands.empty()) {
    std::string list;
    for (const CommandDescription& each : command.commands)
      list += fmt::format(" {}\\:\"{}\"", each.name, ZshEscaped(each.about.substr(0, each.about.find('\n'))));
    out += fmt::format("    '1:command:(({}))' \\\n    '*::argument:->argument'\n", list);
    out += "  case $state in\n    argument)\n      case $line[1] in\n";
    for (const CommandDescription& each : command.commands)
      out += fmt::format("        {}) {} ;;\n", each.name, FunctionOf(path + " " + each.name));
    out += "      esac ;;\n  esac\n}\n\n";
  } else {
    for (const OptionDescription& word : command.words)
      out += fmt::format("    '{}:{}:{}' \\\n", word.repeats ? "*" : "", ZshEscaped(word.value), ActionOf(word));
    out += "    && return\n}\n\n";
  }
  for (const CommandDescription& each : command.commands) AddFunction(program, each, path + " " + each.name, out);
}

}  // namespace

std::string ZshCompletion(const CommandDescription& program) {
  std::string out = fmt::format("#compdef {}\n\n", program.name);
  AddFunction(program, program, program.name, out);
  return out + fmt::format("if [ \"$funcstack[1]\" = \"{0}\" ]; then {0} \"$@\"; else compdef {0} {1}; fi\n",
                           FunctionOf(program.name), program.name);
}

}  // namespace inferflux
