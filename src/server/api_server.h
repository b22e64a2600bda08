// The OpenAI API, health and metrics over HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "metrics/registry.h"
#include "net/server_options.h"
#include "server/request/api_keys.h"
#include "serving/models/model_manager.h"

namespace inferflux::server {

class ApiServer {
 public:
  // Binds and answers at once: models may be loaded by `manager` later, and until SetReady /readyz says 503. What is
  // lent here must outlive the server. `page`: whether / is the page. `net` is taken but for its hooks, which are the
  // server's own.
  static Result<std::unique_ptr<ApiServer>> Start(net::ServerOptions net, ApiKeys keys, serving::ModelManager& manager,
                                                  metrics::Registry& metrics, bool page = true);
  ~ApiServer();

  void SetReady();
  uint16_t port() const;
  // As net::Server::Stop.
  void Stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferflux::server
