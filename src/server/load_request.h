// The body of POST /v1/admin/models, checked and plain.
#pragma once

#include <boost/json/object.hpp>

#include "routing/load_model.h"
#include "server/fields.h"

namespace inferflux::server {

struct AdminLoad {
  routing::LoadRequest request;
  bool is_default = false;
  bool stream = false;
};

// What the body leaves open is as `defaults` say.
ApiResult<AdminLoad> ParseAdminLoad(const boost::json::object& body, const routing::LoadRequest& defaults);

}  // namespace inferflux::server
