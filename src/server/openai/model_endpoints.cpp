#include "server/openai/model_endpoints.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "server/request/describe_model.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

// Where no keys are needed, every caller is an operator.
ModelView ViewFor(const Caller& caller) {
  return keys::Has(caller.scopes, Scope::kAdmin) ? ModelView::kOperator : ModelView::kAnyone;
}

net::Response ModelAnswer(const json::object& body) {
  return net::Response(200, "application/json", json::serialize(body));
}

net::Response AnswerOneModel(const Services& services, const std::string& id, ModelView view) {
  const auto model = services.models.Find(id);
  if (model) return ModelAnswer(DescribeServed(**model, view));
  for (const auto& unloaded : services.pool.Unloaded()) {
    if (unloaded.id == id) return ModelAnswer(DescribeUnloaded(unloaded, view));
  }
  return ErrorResponse({404, model.error().message, "invalid_request_error", "model", "model_not_found"});
}

}  // namespace

asio::awaitable<void> ListModels(Services& services, const Caller& caller, const net::Request&,
                                 net::ResponseWriter& writer) {
  const ModelView view = ViewFor(caller);
  json::array data;
  for (const auto& model : services.models.List()) data.push_back(DescribeServed(*model, view));
  for (const auto& model : services.pool.Unloaded()) data.push_back(DescribeUnloaded(model, view));
  json::object out;
  out["object"] = "list";
  out["data"] = std::move(data);
  net::Response answer = ModelAnswer(out);
  co_await writer.Send(std::move(answer));
}

asio::awaitable<void> DescribeModel(Services& services, const Caller& caller, const net::Request& request,
                                    net::ResponseWriter& writer) {
  net::Response answer = AnswerOneModel(services, request.parameters.at("id"), ViewFor(caller));
  co_await writer.Send(std::move(answer));
}

}  // namespace inferflux::server
