#include "command_line/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include "base/nearest.h"
#include "command_line/printout.h"

namespace inferflux {
namespace {

CommandOption Wrap(CLI::Option* option) { return CommandOption(*option); }

// The options and subcommands that the user may have meant: those of `app` and of the subcommands that were given.
void CollectNames(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  for (const CLI::App* command : app.get_subcommands()) CollectNames(*command, names);
}

// The options of a program itself, without --help, which every command has.
std::vector<const CLI::Option*> OwnOptions(const CLI::App& app) {
  return app.get_options([&](const CLI::Option* option) {
    return option->nonpositional() && option != app.get_help_ptr() && option != app.get_version_ptr();
  });
}

}  // namespace

CommandOption& CommandOption::Shown(const std::string& as) {
  option_.type_name(as);
  return *this;
}

CommandOption& CommandOption::Required() {
  option_.required();
  return *this;
}

CommandOption& CommandOption::Between(int least, int most) {
  option_.check(CLI::Range(least, most));
  return *this;
}

CommandOption& CommandOption::Between(double least, double most) {
  option_.check(CLI::Range(least, most));
  return *this;
}

CommandOption& CommandOption::OneOf(const std::vector<std::string>& words) {
  option_.check(CLI::IsMember(words));
  return *this;
}

CommandOption& CommandOption::ShowsDefault() {
  option_.capture_default_str();
  return *this;
}

CommandOption& CommandOption::SplitAtCommas() {
  option_.delimiter(',');
  return *this;
}

CommandOption& CommandOption::OneEachTime() {
  option_.allow_extra_args(false);
  return *this;
}

CommandOption& CommandOption::Needs(const CommandOption& other) {
  option_.needs(&other.option_);
  return *this;
}

CommandOption& CommandOption::Excludes(const CommandOption& other) {
  option_.excludes(&other.option_);
  return *this;
}

bool CommandOption::given() const { return option_.count() > 0; }

CommandOption Command::Add(const std::string& names, std::string& value, const std::string& help) {
  return Wrap(app_->add_option(names, value, help));
}

CommandOption Command::Add(const std::string& names, int& value, const std::string& help) {
  return Wrap(app_->add_option(names, value, help));
}

CommandOption Command::Add(const std::string& names, int64_t& value, const std::string& help) {
  return Wrap(app_->add_option(names, value, help));
}

CommandOption Command::Add(const std::string& names, uint64_t& value, const std::string& help) {
  return Wrap(app_->add_option(names, value, help));
}

CommandOption Command::Add(const std::string& names, double& value, const std::string& help) {
  return Wrap(app_->add_option(names, value, help));
}

CommandOption Command::Add(const std::string& names, std::optional<std::string>& value, const std::string& help) {
  return Wrap(app_->add_option(names, value, help));
}

CommandOption Command::Add(const std::string& names, std::optional<int64_t>& value, const std::string& help) {
  return Wrap(app_->add_option(names, value, help));
}

CommandOption Command::Add(const std::string& names, std::optional<double>& value, const std::string& help) {
  return Wrap(app_->add_option(names, value, help));
}

CommandOption Command::Add(const std::string& names, std::vector<std::string>& values, const std::string& help) {
  return Wrap(app_->add_option(names, values, help));
}

CommandOption Command::Add(const std::string& names, std::vector<int>& values, const std::string& help) {
  return Wrap(app_->add_option(names, values, help));
}

CommandOption Command::Add(const std::string& names, std::function<void(const std::string&)> take,
                           const std::string& help) {
  return Wrap(app_->add_option_function<std::string>(names, take, help));
}

CommandOption Command::AddFlag(const std::string& names, bool& value, const std::string& help) {
  return Wrap(app_->add_flag(names, value, help));
}

Command Command::AddCommand(const std::string& name, const std::string& help) {
  CLI::App* command = app_->add_subcommand(name, help);
  command->footer("");  // CLI11 would repeat the program's
  return Command(*command);
}

void Command::RequireCommand() { app_->require_subcommand(1); }

std::string Command::chosen() const {
  const auto given = app_->get_subcommands();
  return given.empty() ? std::string() : given.front()->get_name();
}

CommandLine::CommandLine(const std::string& program, const std::string& about, const std::string& version)
    : CommandLine(std::make_unique<CLI::App>(about, program), version) {}

CommandLine::CommandLine(std::unique_ptr<CLI::App> app, const std::string& version)
    : Command(*app), owned_(std::move(app)), version_(version) {
  app_->allow_extras();  // unknown words are reported after the parse, with a suggestion
  app_->fallthrough();   // options of the program may follow its subcommand
  // One subcommand: a later word that is the name of another one is a word.
  app_->require_subcommand(0, 1);
  if (!version.empty()) app_->set_version_flag("--version", app_->get_name() + " " + version);
}

CommandLine::~CommandLine() = default;

void CommandLine::SetFooter(const std::string& text) { app_->footer(text); }

void CommandLine::AddSpelling(const std::string& typed, const std::string& option) {
  CLI::Option* target = app_->get_option(option);
  target->description(target->get_description() + "; also " + typed);
  spellings_.emplace_back(typed, option);
}

// "-ngl 20" and "-ngl=20" become "--gpu-layers 20" and "--gpu-layers=20". Words after "--" stay.
std::vector<std::string> CommandLine::Respelled(const std::vector<std::string>& words) const {
  std::vector<std::string> out = words;
  for (std::string& word : out) {
    if (word == "--") break;
    const size_t length = std::min(word.find('='), word.size());
    for (const auto& [typed, option] : spellings_) {
      if (word.compare(0, length, typed) != 0) continue;
      word.replace(0, length, option);
      break;
    }
  }
  return out;
}

Result<std::optional<std::string>> CommandLine::Parse(const std::vector<std::string>& words) {
  try {
    std::vector<std::string> left = Respelled(words);
    std::ranges::reverse(left);  // CLI11 takes them from the back
    app_->parse(std::move(left));
  } catch (const Printout& asked) {
    return asked.text;
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream text;
    app_->exit(asked, text, text);
    // A subcommand's help lists its own options only; those of the program work behind it too.
    if (dynamic_cast<const CLI::CallForHelp*>(&asked) != nullptr && !app_->get_subcommands().empty()) {
      const std::string group = CLI::Formatter().make_group("Options of every command", false, OwnOptions(*app_));
      text << group.substr(1);  // the help ends with an empty line already
    }
    return text.str();
  } catch (const CLI::ParseError& error) {
    const bool lacks = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    if (const Status known = RejectUnknown(); lacks && !known) return Forward(known);
    return Fail(ErrorCode::kInvalidArgument, "{}; see --help", error.what());
  }
  if (const Status known = RejectUnknown(); !known) return Forward(known);
  return std::nullopt;
}

std::optional<int> CommandLine::Parse(int argc, const char* const* argv) {
  const auto ended = Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (!ended) {
    fmt::print(stderr, "{}: {}\n", app_->get_name(), ended.error().message);
    return kUsageError;
  }
  if (!*ended) return std::nullopt;
  fmt::print("{}", **ended);
  return 0;
}

Status CommandLine::RejectUnknown() const {
  std::vector<std::string> words = app_->remaining(true);
  std::erase(words, "--");  // what ends the options is left over too
  if (words.empty()) return {};
  std::vector<std::string> names;
  CollectNames(*app_, names);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  // An unknown option also leaves its value over; report the option.
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& w) { return w.starts_with('-'); });
  const bool is_option = option != words.end();
  const std::string word = is_option ? option->substr(0, option->find('=')) : words.front();
  return Fail(ErrorCode::kInvalidArgument, "{} '{}'{}; see --help", is_option ? "unknown flag" : "unexpected argument",
              word, Suggestion(word, candidates));
}

}  // namespace inferflux
