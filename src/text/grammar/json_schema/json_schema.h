// JSON Schema (2020-12, and what drafts 4 to 2019-09 share with it) as a grammar of its valid documents. Every document
// that the grammar matches is valid. The grammar omits some valid documents that a generation does not need: members in
// another order than the schema's, members that a schema with `properties` neither names nor allows by
// `additionalProperties` or `patternProperties`, values of types that no keyword applies to, numbers of more than 16
// digits, and some of what `not` leaves (schema_negation.cpp). A keyword that it cannot enforce is an error.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "text/grammar/expression.h"
#include "text/grammar/json_schema/json_grammar.h"

namespace inferflux::text {

// Parses a schema. kInvalidArgument if it is too long, too deep or not JSON.
Result<boost::json::value> ReadSchema(const std::string& source);

// kInvalidArgument or kUnsupported names the keyword and its path ("at #/properties/age/minimum: ..."). With `exact`,
// white space is not free.
Result<Grammar> GrammarOfSchema(const boost::json::value& schema, const std::optional<JsonSeparators>& exact = {});

// The grammar of any JSON object.
Grammar GrammarOfAnyObject();

}  // namespace inferflux::text
