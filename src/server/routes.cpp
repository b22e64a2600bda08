#include "server/routes.h"

#include <boost/asio/awaitable.hpp>
#include <utility>

#include "server/generate_endpoint.h"
#include "server/health_endpoints.h"
#include "server/job.h"
#include "server/model_endpoints.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

// An endpoint that answers at once.
using Answer = net::Response (*)(Services&, const net::Request&);

net::Handler Open(Services& services, Answer answer) {
  return [&services, answer](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    co_await writer.Send(answer(services, request));
  };
}

net::Handler Keyed(Services& services, Answer answer) {
  return [&services, answer](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    const auto caller = services.keys.Check(net::FindHeader(request.headers, "Authorization"));
    // Not one conditional expression: GCC 12 destroys the temporaries of its branches twice inside a co_await.
    net::Response response = caller ? answer(services, request) : ErrorResponse(caller.error());
    co_await writer.Send(std::move(response));
  };
}

net::Handler Generating(Services& services, std::string name, Prepare prepare) {
  return [&services, name, prepare](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    const auto caller = services.keys.Check(net::FindHeader(request.headers, "Authorization"));
    if (caller) {
      co_await Generate(services, name, prepare, *caller, request, writer);
    } else {
      co_await writer.Send(ErrorResponse(caller.error()));
    }
  };
}

}  // namespace

net::Router MakeRoutes(Services& services) {
  net::Router out;
  out.Add("POST", "/v1/chat/completions", Generating(services, "chat", PrepareChat));
  out.Add("POST", "/v1/completions", Generating(services, "completion", PrepareCompletion));
  out.Add("GET", "/v1/models", Keyed(services, ListModels));
  out.Add("GET", "/v1/models/{id...}", Keyed(services, DescribeModel));
  out.Add("GET", "/livez", Open(services, Livez));
  out.Add("GET", "/healthz", Open(services, Healthz));
  out.Add("GET", "/readyz", Open(services, Readyz));
  out.Add("GET", "/metrics", Open(services, Metrics));
  out.Add("GET", "/version", Open(services, Version));
  return out;
}

}  // namespace inferflux::server
