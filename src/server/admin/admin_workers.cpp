#include "server/admin/admin_workers.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "server/request/api_error.h"
#include "worker/contract/codec.h"
#include "worker/pool/worker_manager.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

net::Response NoPool() {
  return ErrorResponse({404, "this server runs its models itself; start it with --pool to have workers",
                        "invalid_request_error", "", "no_pool"});
}

json::object Describe(const worker::WorkerView& view) {
  json::object out{{"id", view.id},
                   {"object", "worker"},
                   {"model", view.model},
                   {"backend", view.backend},
                   {"program", view.program},
                   {"state", worker::NameOf(view.phase)},
                   {"seconds", view.seconds_in_phase},
                   {"restarts", view.restarts},
                   {"in_flight", view.in_flight},
                   {"last_end", view.last_end}};
  if (view.pid > 0) out["pid"] = view.pid;
  if (!view.uri.empty()) out["uri"] = view.uri;
  if (view.state) {
    out["reports"] = worker::WordOf(*view.state);
    out["load"] = worker::WriteMessage(view.load);
  }
  if (view.progress) out["progress"] = worker::WriteMessage(*view.progress);
  return out;
}

net::Response Json(const json::object& body) { return net::Response(200, "application/json", json::serialize(body)); }

// `id` is in the path.
net::Response Change(Services& services, const net::Request& request,
                     Status (worker::WorkerManager::*change)(const std::string&)) {
  if (services.workers == nullptr) return NoPool();
  const std::string& id = request.parameters.at("id");
  if (const Status changed = (services.workers->*change)(id); !changed)
    return ErrorResponse(FromError(changed.error(), "id"));
  return Json({{"id", id}, {"object", "worker"}});
}

}  // namespace

net::Response ListWorkers(Services& services, const net::Request&) {
  if (services.workers == nullptr) return NoPool();
  json::array data;
  for (const worker::WorkerView& view : services.workers->List()) data.push_back(Describe(view));
  return Json({{"object", "list"}, {"data", std::move(data)}});
}

net::Response WorkerLog(Services& services, const net::Request& request) {
  if (services.workers == nullptr) return NoPool();
  const std::string& id = request.parameters.at("id");
  const auto lines = services.workers->Log(id);
  if (!lines) return ErrorResponse(FromError(lines.error(), "id"));
  return Json({{"id", id}, {"object", "worker.log"}, {"lines", json::array(lines->begin(), lines->end())}});
}

net::Response DrainWorker(Services& services, const net::Request& request) {
  return Change(services, request, &worker::WorkerManager::Drain);
}

net::Response RestartWorker(Services& services, const net::Request& request) {
  return Change(services, request, &worker::WorkerManager::Restart);
}

}  // namespace inferflux::server
