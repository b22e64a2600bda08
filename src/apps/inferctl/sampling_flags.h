// The flags for generation settings.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "command_line/command_line.h"

namespace inferflux::apps {

struct SamplingFlags {
  // Of a parameter's own type, which serving's table of them says.
  using Number = std::variant<std::optional<double>, std::optional<int64_t>>;

  std::string model;
  std::optional<int64_t> max_tokens;
  std::vector<std::pair<std::string, Number>> parameters;  // by their names in JSON
  std::vector<std::string> stop;

  // Once, and the flags stay where they are until the command line is parsed.
  void AddTo(Command& command);
  // The request's fields; what was not given is left out, so the server's defaults hold.
  boost::json::object Fields() const;
};

}  // namespace inferflux::apps
