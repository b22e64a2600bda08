#include "server/routes.h"

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <utility>

#include "server/admin/admin_api.h"
#include "server/anthropic/anthropic_api.h"
#include "server/health/health_api.h"
#include "server/ollama/ollama_api.h"
#include "server/openai/llama_server/llama_server_api.h"
#include "server/openai/openai_api.h"
#include "server/page/page_api.h"
#include "server/request/route.h"
#include "server/responses/responses_api.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

// Every API of this server. To add an API, add a line.
std::vector<Api> Apis() {
  return {OpenAiApi(),      AnthropicApi(), OllamaApi(), ResponsesApi(),
          LlamaServerApi(), HealthApi(),    AdminApi(),  PageApi()};
}

ApiResult<Caller> CheckKey(const ApiKeys& keys, const Api& api, const net::Request& request, Scope scope) {
  const std::string_view key =
      api.key_header.empty() ? std::string_view() : net::FindHeader(request.headers, api.key_header);
  if (!key.empty()) return keys.CheckKey(key, scope);
  return keys.Check(net::FindHeader(request.headers, "Authorization"), scope);
}

// Whether the request comes from the page that this server serves. A page of another site can make its own host name
// resolve to this server (DNS rebinding), but not one of the loopback names. If keys are required, the key decides.
bool IsOwnPage(const ApiKeys& keys, const net::Request& request, std::string_view origin) {
  const std::string_view host = net::FindHeader(request.headers, "Host");
  if (host.empty() || (origin != fmt::format("http://{}", host) && origin != fmt::format("https://{}", host)))
    return false;
  if (keys.required()) return true;
  const std::string_view name = host.substr(0, host.rfind(':'));
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

// Without keys the server is for this machine only. A web page that is open on the machine does not act for its owner,
// so check the origin that browsers send.
ApiStatus RefusePages(const ApiKeys& keys, const net::Request& request) {
  const std::string_view origin = net::FindHeader(request.headers, "Origin");
  if (origin.empty() || IsOwnPage(keys, request, origin)) return {};
  return tl::make_unexpected(ApiError{403, fmt::format("admin calls are not taken from web pages (Origin {})", origin),
                                      "invalid_request_error", "", "forbidden_origin"});
}

constexpr uint8_t kReadAndGenerate = static_cast<uint8_t>(Scope::kRead) | static_cast<uint8_t>(Scope::kGenerate);

ApiResult<Caller> Admit(const ApiKeys& keys, const Api& api, Access access, const net::Request& request) {
  switch (access) {
    case Access::kOpen:
      break;
    case Access::kRead:
      return CheckKey(keys, api, request, Scope::kRead);
    case Access::kGenerate: {
      auto caller = CheckKey(keys, api, request, Scope::kGenerate);
      // A page of another site loads no models.
      if (caller && !RefusePages(keys, request)) caller->scopes &= kReadAndGenerate;
      return caller;
    }
    case Access::kAdmin:
      if (ApiStatus allowed = RefusePages(keys, request); !allowed) return Forward(allowed);
      return CheckKey(keys, api, request, Scope::kAdmin);
  }
  return Caller();
}

net::Handler HandlerOf(Services& services, const Api& api, const Route& route) {
  return [&services, api, route](const net::Request& request, net::ResponseWriter& writer) -> asio::awaitable<void> {
    auto caller = Admit(services.keys, api, route.access, request);
    if (caller) caller->request_id = request.id;
    if (!caller) {
      co_await writer.Send(api.refuse(caller.error()));
    } else if (const Answer* answer = std::get_if<Answer>(&route.run)) {
      net::Response response = (*answer)(services, request);
      co_await writer.Send(std::move(response));
    } else if (const Task* task = std::get_if<Task>(&route.run)) {
      co_await (*task)(services, request, writer);
    } else {
      co_await std::get<CallerTask>(route.run)(services, *caller, request, writer);
    }
  };
}

// Refuses a request without the right key before its body is read: bodies of strangers must not take the memory and the
// time that are meant for callers.
net::Router::HeadCheck HeadCheckOf(Services& services, const Api& api, const Route& route) {
  return [&services, api, route](const net::Request& head) -> std::optional<net::Response> {
    const auto caller = Admit(services.keys, api, route.access, head);
    if (caller) return std::nullopt;
    return api.refuse(caller.error());
  };
}

}  // namespace

net::Router MakeRoutes(Services& services) {
  net::Router out;
  for (const Api& api : Apis()) {
    for (const Route& route : api.routes) {
      out.Add(std::string(route.method), route.path, HandlerOf(services, api, route),
              HeadCheckOf(services, api, route));
    }
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
