// Values as language models write them: JSON, and Python's literals where models confuse the two ('texts' in single
// quotes, True, None, a trailing comma, tuples).
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>

namespace inferflux::dspy {

inline constexpr size_t kMaxLiteralDepth = 64;

// The whole text but white space, which may be in a ``` fence. Nothing where it is no literal.
std::optional<boost::json::value> ReadLiteral(std::string_view text);

// A literal that begins at `at`, which moves behind it; unchanged where there is none.
std::optional<boost::json::value> ReadLiteralAt(std::string_view text, size_t& at);

// The first JSON object in an answer: the whole of it, in a fence, or somewhere in the text.
std::optional<boost::json::object> FindJsonObject(std::string_view text);

}  // namespace inferflux::dspy
