// Parses the text of a template to its syntax tree.
#pragma once

#include <string_view>

#include "text/jinja/syntax/ast.h"

namespace inferflux::text::jinja {

// Raises TemplateError, with the line, for what Jinja2 refuses to compile and for unsupported features.
Template Parse(std::string_view source);

}  // namespace inferflux::text::jinja
