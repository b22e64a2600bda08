#include "server/routes.h"

#include <boost/asio/awaitable.hpp>
#include <utility>

#include "server/admin/admin_models.h"
#include "server/admin/admin_routing.h"
#include "server/admin/admin_state.h"
#include "server/admin/session_endpoints.h"
#include "server/health/health_endpoints.h"
#include "server/openai/embeddings/embedding_endpoint.h"
#include "server/openai/generate_endpoint.h"
#include "server/openai/job.h"
#include "server/openai/model_endpoints.h"

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

// What answers over several turns of the event loop.
using Task = asio::awaitable<void> (*)(Services&, const net::Request&, net::ResponseWriter&);

net::Handler Keyed(Services& services, Scope scope, Answer answer) {
  return [&services, scope, answer](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    const auto caller = services.keys.Check(net::FindHeader(request.headers, "Authorization"), scope);
    // Not one conditional expression: GCC 12 destroys the temporaries of its branches twice inside a co_await.
    net::Response response = caller ? answer(services, request) : ErrorResponse(caller.error());
    co_await writer.Send(std::move(response));
  };
}

net::Handler Generating(Services& services, std::string name, Prepare prepare) {
  return [&services, name, prepare](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    const auto caller = services.keys.Check(net::FindHeader(request.headers, "Authorization"), Scope::kGenerate);
    if (caller) {
      co_await Generate(services, name, prepare, *caller, request, writer);
    } else {
      co_await writer.Send(ErrorResponse(caller.error()));
    }
  };
}

net::Handler Embedding(Services& services) {
  return [&services](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    const auto caller = services.keys.Check(net::FindHeader(request.headers, "Authorization"), Scope::kGenerate);
    if (caller) {
      co_await Embed(services, *caller, request, writer);
    } else {
      co_await writer.Send(ErrorResponse(caller.error()));
    }
  };
}

net::Handler OfSessions(Services& services, scheduler::SessionCommand::Action action) {
  return [&services, action](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    const auto caller = services.keys.Check(net::FindHeader(request.headers, "Authorization"), Scope::kGenerate);
    if (caller) {
      co_await RunSessionCommand(services, action, *caller, request, writer);
    } else {
      co_await writer.Send(ErrorResponse(caller.error()));
    }
  };
}

// Without keys the server is for this machine alone, but a web page that is open on it is not its owner: browsers say
// where a request comes from.
ApiStatus CheckAdmin(const Services& services, const net::Request& request) {
  if (const std::string_view origin = net::FindHeader(request.headers, "Origin"); !origin.empty()) {
    return tl::make_unexpected(ApiError{403,
                                        fmt::format("admin calls are not taken from web pages (Origin {})", origin),
                                        "invalid_request_error", "", "forbidden_origin"});
  }
  auto caller = services.keys.Check(net::FindHeader(request.headers, "Authorization"), Scope::kAdmin);
  if (!caller) return Forward(caller);
  return {};
}

net::Handler Admin(Services& services, Task task) {
  return [&services, task](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    const ApiStatus allowed = CheckAdmin(services, request);
    if (allowed) {
      co_await task(services, request, writer);
    } else {
      co_await writer.Send(ErrorResponse(allowed.error()));
    }
  };
}

net::Handler Admin(Services& services, Answer answer) {
  return [&services, answer](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    const ApiStatus allowed = CheckAdmin(services, request);
    net::Response response = allowed ? answer(services, request) : ErrorResponse(allowed.error());
    co_await writer.Send(std::move(response));
  };
}

void AddAdminRoutes(Services& services, net::Router& out) {
  out.Add("GET", "/v1/admin/models", Admin(services, ListAdminModels));
  out.Add("POST", "/v1/admin/models", Admin(services, LoadAdminModel));
  out.Add("PUT", "/v1/admin/models/default", Admin(services, SetDefaultModel));
  out.Add("DELETE", "/v1/admin/models/{id...}", Admin(services, UnloadAdminModel));
  out.Add("GET", "/v1/admin/routing", Admin(services, DescribeRouting));
  out.Add("PUT", "/v1/admin/routing", Admin(services, SetRouting));
  out.Add("GET", "/v1/admin/cache", Admin(services, DescribeCaches));
  out.Add("GET", "/v1/admin/pools", Admin(services, DescribePools));
}

}  // namespace

net::Router MakeRoutes(Services& services) {
  net::Router out;
  out.Add("POST", "/v1/chat/completions", Generating(services, "chat", PrepareChat));
  out.Add("POST", "/v1/completions", Generating(services, "completion", PrepareCompletion));
  out.Add("POST", "/v1/embeddings", Embedding(services));
  out.Add("GET", "/v1/models", Keyed(services, Scope::kRead, ListModels));
  out.Add("GET", "/v1/models/{id...}", Keyed(services, Scope::kRead, DescribeModel));
  using Action = scheduler::SessionCommand::Action;
  out.Add("GET", "/v1/sessions", OfSessions(services, Action::kList));
  out.Add("POST", "/v1/sessions/{id}/save", OfSessions(services, Action::kSave));
  out.Add("POST", "/v1/sessions/{id}/restore", OfSessions(services, Action::kRestore));
  out.Add("DELETE", "/v1/sessions/{id}", OfSessions(services, Action::kDelete));
  out.Add("GET", "/livez", Open(services, Livez));
  out.Add("GET", "/healthz", Open(services, Healthz));
  out.Add("GET", "/readyz", Open(services, Readyz));
  out.Add("GET", "/metrics", Open(services, Metrics));
  out.Add("GET", "/version", Open(services, Version));
  AddAdminRoutes(services, out);
  return out;
}

}  // namespace inferflux::server
