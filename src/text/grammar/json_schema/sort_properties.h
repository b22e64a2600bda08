// Schemas for models that write the members of objects in the order of their names.
#pragma once

#include <boost/json/value.hpp>

namespace inferflux::text {

// Brings the properties of all schemas within this one into that order, small and capital letters alike. What else may
// be called "properties" is held equal in any order.
void SortProperties(boost::json::value& schema);

}  // namespace inferflux::text
