#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "command_line/description.h"
#include "command_line/exit_codes.h"

namespace inferflux {
namespace {

// Text as roff shows it: a dash is a hyphen unless it is escaped, and a line that begins with a dot is a request.
std::string Roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool first = out.empty() || out.back() == '\n';
    if (first && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string ManUpper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string ManNames(const OptionDescription& option) {
  std::string out;
  for (const std::string& name : option.names) out += fmt::format("{}\\fB{}\\fR", out.empty() ? "" : ", ", Roff(name));
  if (!option.value.empty()) out += fmt::format(" \\fI{}\\fR", Roff(option.value));
  return out;
}

void ManAddOptions(const CommandDescription& command, std::string& out) {
  for (const OptionDescription& word : command.words)
    out += fmt::format(".TP\n\\fI{}\\fR\n{}\n", Roff(word.value), Roff(word.help));
  for (const OptionDescription& option : command.options)
    out += fmt::format(".TP\n{}\n{}\n", ManNames(option), Roff(option.help));
}

std::string ManSynopsis(const CommandDescription& command, const std::string& path) {
  std::string out = fmt::format("\\fB{}\\fR [\\fIOPTIONS\\fR]", Roff(path));
  for (const OptionDescription& word : command.words) {
    const std::string name = fmt::format("\\fI{}\\fR{}", Roff(word.value), word.repeats ? "..." : "");
    out += word.required ? " " + name : " [" + name + "]";
  }
  if (!command.commands.empty()) out += " [\\fICOMMAND\\fR]";
  return out + "\n";
}

void ManAddCommands(const CommandDescription& command, const std::string& path, std::string& out) {
  for (const CommandDescription& each : command.commands) {
    const std::string inner = path + " " + each.name;
    out += fmt::format(".SS {}\n{}.PP\n{}\n", Roff(inner), ManSynopsis(each, inner), Roff(each.about));
    ManAddOptions(each, out);
    ManAddCommands(each, inner, out);
  }
}

}  // namespace

std::string ManPage(const CommandDescription& program, const std::string& version) {
  const std::string first = program.about.substr(0, program.about.find('\n'));
  std::string out = fmt::format(".TH {} 1 \"\" \"InferFlux {}\" \"InferFlux\"\n", ManUpper(program.name), version);
  out += fmt::format(".SH NAME\n{} \\- {}\n", Roff(program.name), Roff(first));
  out += ".SH SYNOPSIS\n" + ManSynopsis(program, program.name);
  out += fmt::format(".SH DESCRIPTION\n.nf\n{}\n.fi\n", Roff(program.about));
  out += ".SH OPTIONS\n";
  ManAddOptions(program, out);
  if (!program.commands.empty()) {
    out += ".SH COMMANDS\n";
    ManAddCommands(program, program.name, out);
  }
  out += ".SH EXIT STATUS\n";
  for (const ExitCode& code : kExitCodes)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}: {}\n", code.code, Roff(std::string(code.word)),
                       Roff(std::string(code.meaning)));
  if (!program.footer.empty()) out += fmt::format(".SH EXAMPLES AND NOTES\n.nf\n{}\n.fi\n", Roff(program.footer));
  return out;
}

}  // namespace inferflux
