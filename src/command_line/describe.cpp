// Reads a command line's description out of CLI11's own table.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "command_line/command_line.h"
#include "command_line/printout.h"

namespace inferflux {
namespace {

using Spellings = std::vector<std::pair<std::string, std::string>>;

// The words in "TEXT:{a,b}", as CLI11 shows a choice, or in "a|b".
std::vector<std::string> ChoicesIn(const std::string& placeholder) {
  const size_t open = placeholder.find('{');
  const size_t close = placeholder.find('}');
  const bool braces = open != std::string::npos && close != std::string::npos && open < close;
  if (!braces && placeholder.find('|') == std::string::npos) return {};
  std::string list = braces ? placeholder.substr(open + 1, close - open - 1) : placeholder;
  std::ranges::replace(list, '|', ',');
  std::vector<std::string> out;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) out.push_back(word);
  // "N|UUID" names forms, not words to type.
  const auto is_form = [](const std::string& word) {
    return word.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos;
  };
  if (std::ranges::any_of(out, is_form)) out.clear();
  return out;
}

// By the words that placeholders and option names use for what is on a disk.
bool NamesFile(const std::string& placeholder, const CLI::Option& option) {
  for (const char* word : {"FILE", "DIR", "PATH", ".gguf"}) {
    if (placeholder.find(word) != std::string::npos) return true;
  }
  return option.get_description().find("file") != std::string::npos && option.get_description().starts_with("GGUF");
}

OptionDescription DescribeOption(const CLI::Option& option, const Spellings& spellings) {
  OptionDescription out{.help = option.get_description(), .required = option.get_required()};
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const auto& [typed, target] : spellings) {
    if (option.check_name(target)) out.names.push_back(typed);
  }
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() > 0) {
    out.choices = ChoicesIn(type);
    out.value = type.empty() ? "VALUE" : type.substr(0, type.find(':'));
    out.takes_file = NamesFile(type, option);
  }
  out.repeats = option.get_expected_max() > 1;
  return out;
}

CommandDescription DescribeApp(const CLI::App& app, const Spellings& spellings) {
  CommandDescription out{.name = app.get_name(), .about = app.get_description(), .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    OptionDescription described = DescribeOption(*option, spellings);
    if (option->get_positional()) {
      OptionDescription word = described;
      word.names.clear();
      word.value = option->get_name(true).substr(0, option->get_name(true).find(','));
      out.words.push_back(std::move(word));
    }
    if (option->nonpositional()) out.options.push_back(std::move(described));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    out.commands.push_back(DescribeApp(*command, spellings));
  }
  return out;
}

std::string Completion(const std::string& shell, const CommandDescription& program) {
  if (shell == "zsh") return ZshCompletion(program);
  return shell == "fish" ? FishCompletion(program) : BashCompletion(program);
}

}  // namespace

std::vector<OptionDescription> SharedOptions(const CommandDescription& program) {
  std::vector<OptionDescription> out;
  for (const OptionDescription& option : program.options) {
    if (option.names.front() != "--help" && option.names.front() != "--version") out.push_back(option);
  }
  return out;
}

CommandDescription CommandLine::Describe() const { return DescribeApp(*app_, spellings_); }

void CommandLine::AddPrinters() {
  app_->add_option_function<std::string>(
          "--print-completion", [this](const std::string& shell) { throw Printout{Completion(shell, Describe())}; },
          "print a completion script for a shell, and exit")
      ->type_name("SHELL")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->trigger_on_parse();
  app_->add_flag_callback(
          "--print-man", [this] { throw Printout{ManPage(Describe(), version_)}; },
          "print the manual page, for man(1), and exit")
      ->trigger_on_parse();
}

}  // namespace inferflux
