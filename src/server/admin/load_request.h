// The parsed and checked body of POST /v1/admin/models.
#pragma once

#include <boost/json/object.hpp>

#include "server/request/fields.h"
#include "serving/models/load_model.h"

namespace inferflux::server {

struct AdminLoad {
  serving::LoadRequest request;
  bool is_default = false;
  bool stream = false;
};

// `defaults` supply the fields that the body omits.
ApiResult<AdminLoad> ParseAdminLoad(const boost::json::object& body, const serving::LoadRequest& defaults);

}  // namespace inferflux::server
