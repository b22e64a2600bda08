// Functions that a program lets a language model call.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>

#include "dspy/error.h"
#include "dspy/lm/lm.h"
#include "dspy/signature/example.h"

namespace inferflux::dspy {

struct Tool {
  std::string name;
  std::string desc;
  boost::json::object args;  // a JSON Schema by argument; one with a "default" may be absent
  std::function<Result<boost::json::value>(const Values& args)> function;

  // "name, whose description is <desc>...</desc>. It takes arguments {...}.", as DSPy puts it into prompts.
  std::string Describe() const;
  ToolSpec Spec() const;
  // Checks the arguments, fills in defaults, and calls. kInvalidConfig names an argument that is wrong.
  Result<boost::json::value> Call(const Values& arguments) const;
};

}  // namespace inferflux::dspy
