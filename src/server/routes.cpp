#include "server/routes.h"

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <set>
#include <utility>

#include "net/listening/peer_connections.h"
#include "server/admin/admin_api.h"
#include "server/anthropic/anthropic_api.h"
#include "server/batches/batches_api.h"
#include "server/files/files_api.h"
#include "server/health/health_api.h"
#include "server/live/live_api.h"
#include "server/ollama/ollama_api.h"
#include "server/openai/llama_server/llama_server_api.h"
#include "server/openai/openai_api.h"
#include "server/page/page_api.h"
#include "server/request/failed_login.h"
#include "server/request/request_deadline.h"
#include "server/request/route.h"
#include "server/request/trace/traced_call.h"
#include "server/responses/responses_api.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

// Every API of this server. To add an API, add a line.
std::vector<Api> Apis() {
  return {OpenAiApi(),      AnthropicApi(), OllamaApi(), ResponsesApi(), FilesApi(), BatchesApi(),
          LlamaServerApi(), HealthApi(),    LiveApi(),   AdminApi(),     PageApi()};
}

constexpr keys::Scopes kReadAndGenerate = Scope::kRead | Scope::kGenerate;

ApiResult<Caller> CheckKey(const ApiKeys& keys, const Api& api, const net::Request& request, Scope scope) {
  const std::string_view key =
      api.key_header.empty() ? std::string_view() : net::FindHeader(request.headers, api.key_header);
  if (!key.empty()) return keys.CheckKey(key, scope);
  return keys.Check(net::FindHeader(request.headers, "Authorization"), scope);
}

// Without keys the server is for this machine only, and a web page that is open on it does not act for its owner. With
// keys a page needs one, but administration is for the server's own page and the listed sites even then.
ApiResult<Caller> Admit(const Services& services, const Api& api, Access access, const net::Request& request) {
  const std::shared_ptr<const AccessRules> rules = services.access.get();
  const bool keys = rules->keys.required();
  if (access == Access::kOpen) return Caller();
  if (access == Access::kGenerate && services.draining) {
    return tl::make_unexpected(FromStatus(503, "the server is stopping"));
  }
  if (access != Access::kMetrics) {  // a scraper calls the server by any name
    if (ApiStatus named = rules->sites.CheckHost(request, keys); !named) return Forward(named);
  }
  const bool check_origin = access == Access::kAdmin || (access == Access::kGenerate && !keys);
  if (check_origin) {
    if (ApiStatus allowed = rules->sites.CheckOrigin(request, keys); !allowed) return Forward(allowed);
  }
  switch (access) {
    case Access::kMetrics:
      if (rules->open_metrics) return Caller();
      if (auto caller = CheckKey(rules->keys, api, request, Scope::kRead)) return caller;
      return CheckKey(rules->keys, api, request, Scope::kMetrics);
    case Access::kRead:
    case Access::kGenerate: {
      auto caller = CheckKey(rules->keys, api, request, access == Access::kRead ? Scope::kRead : Scope::kGenerate);
      // A page of another site loads no models.
      if (caller && rules->sites.IsForeign(request, keys)) caller->scopes &= kReadAndGenerate;
      return caller;
    }
    default:
      return CheckKey(rules->keys, api, request, Scope::kAdmin);
  }
}

bool GivesKey(const Api& api, const net::Request& request) {
  return !net::FindHeader(request.headers, "Authorization").empty() ||
         (!api.key_header.empty() && !net::FindHeader(request.headers, api.key_header).empty());
}

// The answer to a caller who may not; that to a wrong key waits, if it was not the first.
net::Response Refuse(Services& services, const Api& api, const net::Request& request, const ApiError& error) {
  net::Response out = api.refuse(error);
  if (error.status != 401) return out;
  CountFailedLogin(services, request, GivesKey(api, request), out);
  return out;
}

// Counts a call of an endpoint that runs a model, as long as it lives.
class GeneratingCall {
 public:
  GeneratingCall(Services& services, const Route& route)
      : services_(services), counts_(route.access == Access::kGenerate ? 1 : 0) {
    services_.generating += counts_;
  }
  ~GeneratingCall() { services_.generating -= counts_; }
  GeneratingCall(const GeneratingCall&) = delete;
  GeneratingCall& operator=(const GeneratingCall&) = delete;

 private:
  Services& services_;
  const int32_t counts_;
};

net::Handler HandlerOf(Services& services, const Api& api, const Route& route) {
  return [&services, api, route](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    const GeneratingCall counted(services, route);
    auto caller = Admit(services, api, route.access, request);
    if (caller && route.access == Access::kGenerate) {
      if (auto deadline = DeadlineOf(request, services.request_timeout)) {
        caller->deadline = *deadline;
      } else {
        caller = Forward(deadline);
      }
    }
    if (caller) caller->request_id = request.id;
    if (caller) caller->peer = net::ClientAddress(request.peer);
    if (caller && !caller->key_name.empty()) writer.Note({"key", caller->key_name});
    std::optional<TracedCall> traced;
    if (caller && route.access == Access::kGenerate && services.tracing.exporter != nullptr) {
      traced.emplace(services.tracing, request, route.path, writer);
      caller->trace = traced->trace();
    }
    net::ResponseWriter& out = traced ? traced->writer() : writer;
    if (!caller) {
      net::Response refusal = Refuse(services, api, request, caller.error());
      co_await out.Send(std::move(refusal));
    } else if (const Answer* answer = std::get_if<Answer>(&route.run)) {
      net::Response response = (*answer)(services, request);
      co_await out.Send(std::move(response));
    } else if (const Task* task = std::get_if<Task>(&route.run)) {
      co_await (*task)(services, request, out);
    } else {
      co_await std::get<CallerTask>(route.run)(services, *caller, request, out);
    }
  };
}

// Refuses a request without the right key before its body is read: bodies of strangers must not take the memory and the
// time that are meant for callers. So does a client that has as much as it may; administration has no limit, so that an
// operator can always act.
net::Router::HeadCheck HeadCheckOf(Services& services, const Api& api, const Route& route) {
  return [&services, api, route](net::Request& head) -> std::optional<net::Response> {
    auto caller = Admit(services, api, route.access, head);
    if (!caller) return Refuse(services, api, head, caller.error());
    if (route.access == Access::kOpen || route.access == Access::kAdmin) return std::nullopt;
    caller->peer = net::ClientAddress(head.peer);
    auto allowance = services.clients.Enter(*caller, api.refuse);
    if (!allowance) return api.refuse(allowance.error());
    head.allowance = std::move(*allowance);
    return std::nullopt;
  };
}

bool IsBehind(Door door, const Route& route) {
  return door == Door::kEverything || (route.access != Access::kAdmin && route.access != Access::kMetrics);
}

// Answers preflight requests at the paths of the API.
void AddPreflights(Services& services, const Api& api, Door door, net::Router& out) {
  std::set<std::string_view> paths;
  for (const Route& route : api.routes) {
    if (!IsBehind(door, route) || !paths.insert(route.path).second) continue;
    out.Add("OPTIONS", route.path,
            [&services, api](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
              const auto answer = services.access.get()->sites.Preflight(request);
              net::Response response = answer ? *answer : api.refuse(answer.error());
              co_await writer.Send(std::move(response));
            });
  }
}

}  // namespace

net::Router MakeRoutes(Services& services, Door door) {
  net::Router out;
  for (const Api& api : Apis()) {
    for (const Route& route : api.routes) {
      if (!IsBehind(door, route)) continue;
      out.Add(std::string(route.method), route.path, HandlerOf(services, api, route),
              HeadCheckOf(services, api, route));
    }
    AddPreflights(services, api, door, out);
  }
  return out;
}

net::Response RefusalAt(std::string_view target, const ApiError& error) {
  auto refuse = ErrorResponse;
  size_t longest = 0;
  for (const Api& api : Apis()) {
    if (!api.prefix.empty() && api.prefix.size() > longest && target.starts_with(api.prefix)) {
      longest = api.prefix.size();
      refuse = api.refuse;
    }
    for (const Route& route : api.routes) {
      const std::string_view fixed = route.path.substr(0, route.path.find('{'));
      if (fixed.size() <= longest || !target.starts_with(fixed)) continue;
      longest = fixed.size();
      refuse = api.refuse;
    }
  }
  return refuse(error);
}

}  // namespace inferflux::server
