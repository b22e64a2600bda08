// The descriptions of models in the APIs.
#pragma once

#include <boost/json/object.hpp>

#include "serving/models/served_model.h"
#include "serving/pool/unloaded_model.h"

namespace inferflux::server {

// Who reads it: where models are in the server's file system, and why one cannot be read, is for operators only.
enum class ModelView { kAnyone, kOperator };

// OpenAI's fields, followed by ours.
boost::json::object DescribeServed(const serving::ServedModel& model, ModelView view);

// A model of the pool that is not loaded: OpenAI's fields, and `status`; for operators `path`, and in `status` the
// reason if its load failed.
boost::json::object DescribeUnloaded(const serving::UnloadedModel& model, ModelView view);

}  // namespace inferflux::server
