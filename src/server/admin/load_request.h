// The body of POST /v1/admin/models, checked and plain.
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

// What the body leaves open is as `defaults` say.
ApiResult<AdminLoad> ParseAdminLoad(const boost::json::object& body, const serving::LoadRequest& defaults);

}  // namespace inferflux::server
