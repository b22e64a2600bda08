// From an answer's text to a value of a field's type, as DSPy and pydantic convert them.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "dspy/error.h"
#include "dspy/signature/signature.h"

namespace inferflux::dspy {

// kParseFailed says field, type and text. Besides JSON, Python's literals and the words of bool ("yes", "off") are
// read.
Result<boost::json::value> ConvertText(const Field& field, std::string_view text);

// A value that JSON already typed: "4" is an int too, and a str field takes anything as Python's str() writes it.
Result<boost::json::value> ConvertValue(const Field& field, const boost::json::value& value);

// Whether an input is of its field's type, unconverted. A str field takes a list of texts too. kInvalidConfig.
Status CheckInput(const Field& field, const boost::json::value& value);

}  // namespace inferflux::dspy
