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
    app.add_option("--model", out.models, "GGUF file to serve, or ID=FILE; may be repeated; the first is the default")
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
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with('-')) return Fail(ErrorCode::kInvalidArgument, "unexpected argument '{}'; see --help", word);
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string flag = word.substr(0, word.find('='));
    return Fail(ErrorCode::kInvalidArgument, "unknown flag '{}'{}; see --help", flag, Suggestion(flag, candidates));
  }
  return {};
}

}  // namespace inferflux::config
