// Suggestions for misspelt words: "did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inferflux {

// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) from `word`. Empty if none is
// close.
std::string_view Nearest(std::string_view word, const std::vector<std::string_view>& candidates);

// "; did you mean 'x'?", or an empty string.
std::string Suggestion(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace inferflux
