// A loaded model as the APIs show it.
#pragma once

#include <boost/json/object.hpp>

#include "serving/models/served_model.h"

namespace inferflux::server {

// OpenAI's own fields, and ours beside them.
boost::json::object DescribeServed(const serving::ServedModel& model);

}  // namespace inferflux::server
