// The steps in which an answer is read: the adapter's form, another one, and the whole text for a single field.
#pragma once

#include <string_view>

#include "dspy/error.h"
#include "dspy/signature/example.h"
#include "dspy/signature/signature.h"

namespace inferflux::dspy {

// Converts what markers cut. Nothing is read (an empty object) where an output field is missing that may not be None.
Result<Values> FromFields(const Signature& signature, const Values& fields);

// The same from a JSON object in the text, fenced or bare.
Result<Values> FromJson(const Signature& signature, std::string_view text);

// The whole text, where there is one output field; kParseFailed names the fields that are missing otherwise.
Result<Values> FromWholeText(const Signature& signature, std::string_view text, const Values& found);

}  // namespace inferflux::dspy
