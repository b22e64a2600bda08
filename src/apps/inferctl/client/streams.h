// Standard input and output, as the commands use them.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "base/result.h"

namespace inferflux::apps {

// The word of a command line; for "-", all of standard input.
Result<std::string> TextOf(const std::string& word);
// The contents of a file; for "-", standard input. At most 64 MiB.
Result<std::string> ContentsOf(const std::string& path);

// Whether standard input is something other than a terminal.
bool InputIsPiped();

// Prints the value on one line. Returns the exit code.
int PrintJson(const boost::json::value& value);

}  // namespace inferflux::apps
