// The flags for generation settings.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command_line/command_line.h"

namespace inferflux::apps {

struct SamplingFlags {
  std::string model;
  std::optional<int64_t> max_tokens;
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int64_t> seed;
  std::vector<std::string> stop;

  void AddTo(Command& command);
  // The request's fields; what was not given is left out, so the server's defaults hold.
  boost::json::object Fields() const;
};

}  // namespace inferflux::apps
