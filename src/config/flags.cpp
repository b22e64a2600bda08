#include "config/flags.h"

#include <algorithm>

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
  if (!key.initial.empty()) out += " [" + std::string(key.initial) + "]";
  return out;
}

std::string_view Placeholder(const Key& key) {
  if (!key.choices.empty()) return key.choices;
  if (key.name.ends_with("_file")) return "FILE";
  if (key.name.ends_with("_dir") || key.name.ends_with("directory")) return "DIR";
  switch (key.type) {
    case Type::kInteger:
      return "N";
    case Type::kBytes:
      return "SIZE";
    case Type::kSwitch:
      return "true|false";
    case Type::kWords:
      return "WORD,...";
    case Type::kDevice:
      return "N|UUID|PCI";
    case Type::kText:
      break;
  }
  return "TEXT";
}

}  // namespace

std::string FlagName(const Key& key) {
  return key.short_flag.empty() ? LongFlag(key) : "--" + std::string(key.short_flag);
}

void SetSwitch(KeyRef<Type::kSwitch> key, bool value, FlagValues& out) {
  out.values[key.index] = value ? "true" : "false";
}

void AddFlags(CommandLine& command, Program program, FlagValues& out) {
  command.Add("--config", out.file, "YAML file to read settings from (or INFERFLUX_CONFIG)").Shown("FILE");
  if ((program & (kServer | kWorker)) != 0) {
    command
        .Add("-m,--model,MODEL", out.models,
             "GGUF file or Hugging Face directory to serve, or ID=PATH; may be repeated; the first is the default")
        .Shown("[ID=]FILE");
    command
        .Add("--served-model-name,-a", out.served_name,
             "the id by which clients name the model, where there is one; as ID=FILE")
        .Shown("ID");
    command.AddSpelling("--alias", "--served-model-name");
  }
  for (size_t i = 0; i < kKeyCount; ++i) {
    const Key& key = kSchema[i];
    if (!Reads(program, key)) continue;
    std::string names = LongFlag(key);
    if (!key.short_flag.empty() && names != "--" + std::string(key.short_flag))
      names += ",--" + std::string(key.short_flag);
    if (key.letter != 0) names += std::string(",-") + key.letter;
    command
        .Add(
            names, [&out, i](const std::string& text) { out.values[i] = text; }, Help(key))
        .Shown(std::string(Placeholder(key)));
    for (const Spelling& spelling : kSpellings) {
      if (spelling.key == key.name) command.AddSpelling(std::string(spelling.typed), LongFlag(key));
    }
  }
}

}  // namespace inferflux::config
