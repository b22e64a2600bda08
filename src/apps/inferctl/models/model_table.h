// Prints a list of models as a table on standard output.
#pragma once

#include <boost/json/value.hpp>

namespace inferflux::apps {

// `list` has models under "data", like the answers of /v1/models and /v1/admin/models. Returns the exit code.
int PrintModelTable(const boost::json::value& list);

}  // namespace inferflux::apps
