// A list of models as a table on standard output.
#pragma once

#include <boost/json/value.hpp>

namespace inferflux::apps {

// `list` has models under "data", as /v1/models and /v1/admin/models answer. Returns the exit code.
int PrintModelTable(const boost::json::value& list);

}  // namespace inferflux::apps
