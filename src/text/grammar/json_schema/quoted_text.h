// Text between quotes, with the escapes that JSON and Python share.
#pragma once

#include <string>
#include <string_view>

#include "text/grammar/expression.h"

namespace inferflux::text {

// The characters that need no escape: no backslash, no control and not the quote itself.
const CodeRanges& PlainWithin(char quote);

// What a text's, or any matching text's, characters are between such quotes.
std::string EscapedWithin(char quote, std::string_view text);
Expr EscapedWithin(char quote, const Expr& content);

}  // namespace inferflux::text
