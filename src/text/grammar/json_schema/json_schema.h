// JSON Schema (2020-12, and what drafts 4 to 2019-09 share with it) as a grammar of the documents that are valid under
// it. Every document that the grammar matches is valid. Of the valid ones it leaves out what a generation has no need
// of: members of an object in another order than the schema's, members that a schema with `properties` neither names
// nor invites by `additionalProperties` or `patternProperties`, values of types that no keyword speaks of, numbers of
// more than 16 digits, and some of what `not` leaves (schema_negation.cpp). A keyword that it cannot honour is an
// error.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "base/result.h"
#include "text/grammar/expression.h"

namespace inferflux::text {

// A schema from its text: kInvalidArgument where it is too long, too deep or no JSON.
Result<boost::json::value> ReadSchema(const std::string& source);

// kInvalidArgument or kUnsupported names the keyword and its path ("at #/properties/age/minimum: ...").
Result<Grammar> GrammarOfSchema(const boost::json::value& schema);

// Of any JSON object.
Grammar GrammarOfAnyObject();

}  // namespace inferflux::text
