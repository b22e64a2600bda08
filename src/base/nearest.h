// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inferflux {

// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) from `word`; empty where all are
// far.
std::string_view Nearest(std::string_view word, const std::vector<std::string_view>& candidates);

// "; did you mean 'x'?", or nothing.
std::string Suggestion(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace inferflux
