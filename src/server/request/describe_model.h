// The descriptions of models in the APIs.
#pragma once

#include <boost/json/object.hpp>

#include "serving/models/served_model.h"
#include "serving/pool/unloaded_model.h"

namespace inferflux::server {

// OpenAI's fields, followed by ours.
boost::json::object DescribeServed(const serving::ServedModel& model);

// A model of the pool that is not loaded: OpenAI's fields, `path`, and `status` with the reason if its load failed.
boost::json::object DescribeUnloaded(const serving::UnloadedModel& model);

}  // namespace inferflux::server
