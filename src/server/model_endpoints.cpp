#include "server/model_endpoints.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

namespace inferflux::server {
namespace json = boost::json;
namespace {

json::object DescribeExposure(const routing::BackendExposure& exposure) {
  json::array attempts;
  for (const routing::BackendAttempt& attempt : exposure.attempts) {
    attempts.push_back({{"backend", attempt.backend},
                        {"provider", attempt.provider},
                        {"outcome", attempt.outcome},
                        {"reason", attempt.reason}});
  }
  json::object out;
  out["requested_backend"] = exposure.requested_backend;
  out["exposed_backend"] = exposure.exposed_backend;
  out["provider"] = exposure.provider;
  out["fallback"] = exposure.fallback;
  out["fallback_reason"] = exposure.fallback_reason;
  out["attempts"] = std::move(attempts);
  return out;
}

// OpenAI's own fields, and ours in one object of their own.
json::object Describe(const routing::ServedModel& model) {
  json::object ours;
  ours["format"] = model.info.format;
  ours["architecture"] = model.info.architecture;
  ours["quantization"] = model.info.quantization;
  ours["parameters"] = model.info.parameters;
  ours["context"] = model.info.context;
  ours["vocab_size"] = model.info.vocab_size;
  ours["chat"] = model.chat_template != nullptr;
  ours["backend_exposure"] = DescribeExposure(model.exposure);
  json::object out;
  out["id"] = model.id;
  out["object"] = "model";
  out["created"] = model.info.created;
  out["owned_by"] = "inferflux";
  out["inferflux"] = std::move(ours);
  return out;
}

}  // namespace

net::Response ListModels(Services& services, const net::Request&) {
  json::array data;
  for (const auto& model : services.models.List()) data.push_back(Describe(*model));
  json::object out;
  out["object"] = "list";
  out["data"] = std::move(data);
  return net::Response(200, "application/json", json::serialize(out));
}

net::Response DescribeModel(Services& services, const net::Request& request) {
  const auto model = services.models.Find(request.parameters.at("id"));
  if (!model) return ErrorResponse({404, model.error().message, "invalid_request_error", "model", "model_not_found"});
  return net::Response(200, "application/json", json::serialize(Describe(**model)));
}

}  // namespace inferflux::server
