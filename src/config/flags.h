// The schema as command-line flags.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "command_line/command_line.h"
#include "config/schema.h"

namespace inferflux::config {

// The values that a command line set. Must outlive the parse of that command line.
struct FlagValues {
  std::map<size_t, std::string> values;  // by the row of the key
  std::vector<std::string> models;       // --model, in order
  std::string served_name;               // --served-model-name
  std::string file;                      // --config
};

// Adds a flag for every key that `program` reads, --config FILE, and for the server --model and --served-model-name.
void AddFlags(CommandLine& command, Program program, FlagValues& out);

// As if the command line had set the switch.
void SetSwitch(KeyRef<Type::kSwitch> key, bool value, FlagValues& out);

// "--port" or, without a short form, "--server-port".
std::string FlagName(const Key& key);

}  // namespace inferflux::config
