// The schema as command-line flags.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/schema.h"

namespace CLI {
class App;
}

namespace inferflux::config {

// What a command line set. Must outlive the parse of the App it was given to.
struct FlagValues {
  std::map<size_t, std::string> values;  // by the key's row
  std::vector<std::string> models;       // --model, in order
  std::string file;                      // --config
};

// Adds a flag for every key that `program` reads, --config FILE, and for the server --model.
void AddFlags(CLI::App& app, Program program, FlagValues& out);

// After a parse that allowed extras: an error that names a flag or word that neither `app` nor the command of it that
// was given knows, and suggests the nearest.
Status RejectUnknownFlags(const CLI::App& app);

// "--port" or, without a short form, "--server-port".
std::string FlagName(const Key& key);

}  // namespace inferflux::config
