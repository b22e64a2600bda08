// Text between quotes, with the escapes that JSON and Python share.
#pragma once

#include <string>
#include <string_view>

#include "text/grammar/expression.h"

namespace inferflux::text {

// The characters that need no escape: all but the backslash, control characters and the quote itself.
const CodeRanges& PlainWithin(char quote);

// A text, or any text that matches, as written between such quotes.
std::string EscapedWithin(char quote, std::string_view text);
Expr EscapedWithin(char quote, const Expr& content);

}  // namespace inferflux::text
