// The settings of one backend, as configured under runtime.backends.
#pragma once

#include <string>

#include "config/backend_config.h"

namespace inferflux::config {

struct BackendSetting {
  std::string backend;  // a word that runtime.backend accepts, except auto
  BackendConfig config;
  std::string origin;  // where it was set, for messages
};

}  // namespace inferflux::config
