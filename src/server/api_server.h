// The APIs, health and metrics over HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "metrics/registry.h"
#include "net/server_options.h"
#include "server/request/access/access_rules.h"
#include "server/request/limits/preparation_pool.h"
#include "server/request/trace/traced_call.h"
#include "serving/pool/model_pool.h"

namespace inferflux::worker {
class WorkerManager;
}

namespace inferflux::server {

struct ApiOptions {
  AccessRules access;
  bool page = true;  // whether / serves the page
  PreparationLimits preparation;
  worker::WorkerManager* workers = nullptr;  // run the models; null: this process does
  // A second listener that serves everything; the first one then has neither administration nor metrics.
  std::optional<net::ServerOptions> admin_net;
  std::chrono::seconds request_timeout{0};  // of every request that runs a model; 0: none
  Tracing tracing;                          // the exporter must outlive the server
  std::string store_file;                   // where responses and conversations are kept; empty: in memory
};

class ApiServer {
 public:
  // Binds and answers at once: `pool` may load models later, and /readyz returns 503 until SetReady. Borrowed
  // arguments must outlive the server. The server replaces the hooks of `net` with its own.
  static Result<std::unique_ptr<ApiServer>> Start(net::ServerOptions net, serving::ModelPool& pool,
                                                  metrics::Registry& metrics, ApiOptions options = {});
  ~ApiServer();

  void SetReady();
  // The rules of every request from now on. kInvalidArgument, and the old ones stay, if they would take no key where
  // one is needed now: the server may listen to other machines.
  Status ReplaceAccess(AccessRules rules);
  uint16_t port() const;
  uint16_t admin_port() const;  // 0: there is no listener for it
  // Drains, then closes. While it drains, for at most `grace`, the port answers: /readyz and new generations get 503,
  // and so does what waits for its turn. What runs goes on. After that it gets an error as its last event; it is logged
  // and counted. Do not call it from a thread of the server.
  void Stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferflux::server
