// The APIs, health and metrics over HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "metrics/registry.h"
#include "net/server_options.h"
#include "server/request/api_keys.h"
#include "serving/pool/model_pool.h"

namespace inferflux::worker {
class WorkerManager;
}

namespace inferflux::server {

class ApiServer {
 public:
  // Binds and answers at once: `pool` may load models later, and /readyz returns 503 until SetReady. Borrowed
  // arguments must outlive the server. `page`: whether / serves the page. `workers` run the models; null: this process
  // does. `store_file`: where responses and conversations are kept; empty: in memory. The server replaces the hooks of
  // `net` with its own.
  static Result<std::unique_ptr<ApiServer>> Start(net::ServerOptions net, ApiKeys keys, serving::ModelPool& pool,
                                                  metrics::Registry& metrics, bool page = true,
                                                  worker::WorkerManager* workers = nullptr,
                                                  const std::string& store_file = {});
  ~ApiServer();

  void SetReady();
  uint16_t port() const;
  // See net::Server::Stop.
  void Stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferflux::server
