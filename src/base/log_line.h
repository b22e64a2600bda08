// What a line of the log says beside its time and level.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inferflux::log {

enum class Format { kText, kJson };

struct Field {
  std::string name;  // plain letters and underscores
  std::string value;
  bool number = false;  // `value` is a JSON number
};

// Text: `message name=value ...`, control characters of values as \xNN, values with spaces in quotes. JSON:
// `"message":"...","name":"..."`, the members of an object without its braces; bytes that are not UTF-8 become U+FFFD.
// `fields` follow `common`.
std::string MakeLine(Format format, std::string_view message, const std::vector<Field>& common,
                     const std::vector<Field>& fields);

}  // namespace inferflux::log
