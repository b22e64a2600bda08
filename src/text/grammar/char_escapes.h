// What the notations for grammars have in common: escaped characters and counted repetitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace inferflux::text {

// The character behind a backslash at `at`, which moves behind it: \n \r \t \f \v \0 \xHH \uHHHH \UHHHHHHHH \\, and
// each of `plain` for itself. Two \u that are surrogates are one character.
Result<char32_t> TakeEscape(std::string_view source, size_t& at, std::string_view plain);

struct Repetitions {
  uint32_t min = 0;
  uint32_t max = 0;
};
// What stands behind '{': n}, n,}, n,m} or ,m}.
Result<Repetitions> TakeRepetitions(std::string_view source, size_t& at);

}  // namespace inferflux::text
