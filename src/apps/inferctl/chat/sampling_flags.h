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
  // A value of the parameter's own type, given by serving's table of parameters.
  using Number = std::variant<std::optional<double>, std::optional<int64_t>>;

  std::string model;
  std::optional<int64_t> max_tokens;
  std::vector<std::pair<std::string, Number>> parameters;  // by their names in JSON
  std::vector<std::string> stop;

  // Call once. The flags must not move until the command line is parsed. `model_names`: of the option for the model; as
  // "MODEL,--model" it is a word, which must be there.
  void AddTo(Command& command, const std::string& model_names = "--model");
  // The request's fields; flags that were not given are left out, so the server's defaults apply.
  boost::json::object Fields() const;
};

}  // namespace inferflux::apps
