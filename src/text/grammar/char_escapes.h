// Escaped characters and counted repetitions, which all notations for grammars share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace inferflux::text {

// Parses the character after a backslash at `at` and advances `at`: \n \r \t \f \v \0 \xHH \uHHHH \UHHHHHHHH \\, and
// each character of `plain` as itself. Two \u surrogates are one character.
Result<char32_t> TakeEscape(std::string_view source, size_t& at, std::string_view plain);

struct Repetitions {
  uint32_t min = 0;
  uint32_t max = 0;
};
// Parses what follows '{': n}, n,}, n,m} or ,m}.
Result<Repetitions> TakeRepetitions(std::string_view source, size_t& at);

}  // namespace inferflux::text
