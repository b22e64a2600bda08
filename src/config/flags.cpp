#include "config/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "config/nearest.h"

namespace inferflux::config {
namespace {

std::string LongFlag(const Key& key) {
  std::string out = "--" + std::string(key.name);
  std::replace(out.begin(), out.end(), '.', '-');
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::string Help(const Key& key) {
  std::string out(key.help);
  if (!key.choices.empty()) out += " (" + std::string(key.choices) + ")";
  if (!key.initial.empty()) out += " [" + std::string(key.initial) + "]";
  return out;
}

std::string_view TypeName(Type type) {
  switch (type) {
    case Type::kInteger:
      return "N";
    case Type::kBytes:
      return "SIZE";
    case Type::kSwitch:
      return "true|false";
    case Type::kWords:
      return "WORD,...";
    case Type::kText:
      break;
  }
  return "TEXT";
}

}  // namespace

std::string FlagName(const Key& key) {
  return key.short_flag.empty() ? LongFlag(key) : "--" + std::string(key.short_flag);
}

void AddFlags(CLI::App& app, Program program, FlagValues& out) {
  app.add_option("--config", out.file, "YAML file to read settings from (or INFERFLUX_CONFIG)")->type_name("FILE");
  if ((program & kServer) != 0) {
    app.add_option("--model", out.models, "GGUF file or Hugging Face directory to serve, or ID=PATH; may be repeated; the first is the default")
        ->type_name("[ID=]FILE")
        ->allow_extra_args(false);
  }
  for (size_t i = 0; i < kKeyCount; ++i) {
    const Key& key = kSchema[i];
    if ((key.readers & program) == 0) continue;
    std::string names = LongFlag(key);
    if (!key.short_flag.empty()) names += ",--" + std::string(key.short_flag);
    app.add_option_function<std::string>(
           names, [&out, i](const std::string& text) { out.values[i] = text; }, Help(key))
        ->type_name(std::string(TypeName(key.type)));
  }
}

Status RejectUnknownFlags(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return {};
  std::vector<std::string> names;
  const auto add_flags = [&](const CLI::App& of) {
    for (const CLI::Option* option : of.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  };
  add_flags(app);
  for (const CLI::App* command : app.get_subcommands()) add_flags(*command);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  // A flag that is not known also leaves its value over; the flag is what is wrong.
  const auto flag = std::find_if(words.begin(), words.end(), [](const std::string& w) { return w.starts_with('-'); });
  const bool is_flag = flag != words.end();
  const std::string word = is_flag ? flag->substr(0, flag->find('=')) : words.front();
  return Fail(ErrorCode::kInvalidArgument, "{} '{}'{}; see --help", is_flag ? "unknown flag" : "unexpected argument",
              word, Suggestion(word, candidates));
}

}  // namespace inferflux::config
