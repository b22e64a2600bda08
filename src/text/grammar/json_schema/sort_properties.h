// Schemas for models that write the members of objects in alphabetical order.
#pragma once

#include <boost/json/value.hpp>

namespace inferflux::text {

// Sorts the properties of all schemas within this one, case-insensitively. Other members called "properties" compare
// equal in any order.
void SortProperties(boost::json::value& schema);

}  // namespace inferflux::text
