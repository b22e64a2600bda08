// Jinja2's lexer with trim_blocks and lstrip_blocks on and keep_trailing_newline off.
#pragma once

#include <string_view>
#include <vector>

#include "text/jinja/syntax/token.h"

namespace inferflux::text::jinja {

// The tokens of a template, kEnd last. Raises TemplateError, with the line, if it is not a template.
std::vector<Token> Tokenize(std::string_view source);

// The value of a string literal's content, decoded like Python's "unicode-escape".
std::string Unescape(std::string_view literal, int line);

}  // namespace inferflux::text::jinja
