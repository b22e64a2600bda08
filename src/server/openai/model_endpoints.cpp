#include "server/openai/model_endpoints.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "server/request/describe_model.h"

namespace inferflux::server {
namespace json = boost::json;
net::Response ListModels(Services& services, const net::Request&) {
  json::array data;
  for (const auto& model : services.models.List()) data.push_back(DescribeServed(*model));
  for (const auto& model : services.pool.Unloaded()) data.push_back(DescribeUnloaded(model));
  json::object out;
  out["object"] = "list";
  out["data"] = std::move(data);
  return net::Response(200, "application/json", json::serialize(out));
}

net::Response DescribeModel(Services& services, const net::Request& request) {
  const std::string& id = request.parameters.at("id");
  const auto model = services.models.Find(id);
  if (!model) {
    for (const auto& unloaded : services.pool.Unloaded()) {
      if (unloaded.id == id) return net::Response(200, "application/json", json::serialize(DescribeUnloaded(unloaded)));
    }
  }
  if (!model) return ErrorResponse({404, model.error().message, "invalid_request_error", "model", "model_not_found"});
  return net::Response(200, "application/json", json::serialize(DescribeServed(**model)));
}

}  // namespace inferflux::server
