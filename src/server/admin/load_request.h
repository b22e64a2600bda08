// The parsed and checked body of POST /v1/admin/models.
#pragma once

#include <boost/json/object.hpp>

#include "server/request/fields.h"
#include "serving/pool/model_pool.h"

namespace inferflux::server {

struct AdminLoad {
  serving::LoadRequest request;
  bool is_default = false;
  bool stream = false;
};

// The defaults of `pool` supply the fields that the body omits; without a path, the id names a model that it can load.
ApiResult<AdminLoad> ParseAdminLoad(const boost::json::object& body, const serving::ModelPool& pool);

}  // namespace inferflux::server
