// How DSPy writes fields and their values into prompts.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "dspy/signature/signature.h"

namespace inferflux::dspy {

// A list of texts in a str field becomes «one» or "[1] «one»\n[2] «two»"; lists and objects are JSON; the rest is
// str().
std::string FormatValue(const FieldType& type, const boost::json::value& value);

// "1. `question` (str): what is asked", a line for each field.
std::string DescribeFields(const std::vector<Field>& fields);

// "{answer}        # note: the value you produce must be a single int value". Inputs have no note.
std::string Placeholder(const Field& field, bool output);

// " (must be formatted as a valid Python int)"; empty for str.
std::string TypeReminder(const Field& field);

}  // namespace inferflux::dspy
