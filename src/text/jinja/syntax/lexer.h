// Jinja2's lexer with trim_blocks and lstrip_blocks on and keep_trailing_newline off.
#pragma once

#include <string_view>
#include <vector>

#include "text/jinja/syntax/token.h"

namespace inferflux::text::jinja {

// The tokens of a template, kEnd last. Raises TemplateError, with the line, for what is no template.
std::vector<Token> Tokenize(std::string_view source);

// The value of a string literal's inside, as Python's "unicode-escape" decodes it.
std::string Unescape(std::string_view literal, int line);

}  // namespace inferflux::text::jinja
