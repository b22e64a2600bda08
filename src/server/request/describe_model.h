// The description of a loaded model in the APIs.
#pragma once

#include <boost/json/object.hpp>

#include "serving/models/served_model.h"

namespace inferflux::server {

// OpenAI's fields, followed by ours.
boost::json::object DescribeServed(const serving::ServedModel& model);

}  // namespace inferflux::server
