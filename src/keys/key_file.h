// A file of API keys, one a line (keys/key_line.h). Changes replace it whole, so that a server that reads it meanwhile
// sees the old file or the new one; lines that are not changed stay as they are, with their comments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "keys/key_line.h"

namespace inferflux::keys {

// kNotFound if the file cannot be read; kInvalidArgument, with file and line, if a line is wrong.
Result<std::vector<KeyLine>> ReadKeyFile(const std::string& path);

// Makes a key of 256 random bits and adds its line; the file is made (for its owner only) if there is none. Returns the
// key itself, which the file does not hold: this is the only time that it can be shown. kInvalidArgument if a key has
// that name.
Result<std::string> CreateKey(const std::string& path, const std::string& name, Scopes scopes,
                              std::optional<Time> expires, const Limits& limits = {});

// Takes out the keys whose name, or the beginning of whose hash (8 digits or more), is `which`. Returns how many lines
// went; kNotFound if none.
Result<int> RevokeKey(const std::string& path, std::string_view which);

}  // namespace inferflux::keys
