// What a flag such as --print-man asks for instead of a run. CLI11 ends a parse by exceptions. Private to
// command_line/.
#pragma once

#include <string>

namespace inferflux {

struct Printout {
  std::string text;
};

}  // namespace inferflux
