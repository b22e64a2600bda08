// The one resolver of every program. Precedence: flag, environment, file, default.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/flags.h"
#include "config/settings.h"

namespace inferflux::config {

using Environment = std::map<std::string, std::string>;

// The variables of `environ` whose names begin with INFERFLUX_.
Environment ReadEnvironment(const char* const* environ);

// Errors name the key, where it was set and which values it accepts. An unknown key is an error that suggests the
// nearest known one.
Result<Settings> Resolve(const FlagValues& flags, const Environment& environment);

}  // namespace inferflux::config
