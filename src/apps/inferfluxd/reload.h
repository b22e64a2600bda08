// Reads the configuration again, at SIGHUP, and applies what a running server can change: who may call, the
// certificate, the log, and the routing policy. What it cannot is logged and waits for the next start. A configuration
// with an error changes nothing.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"
#include "config/settings.h"
#include "net/transport/tls_context.h"
#include "server/api_server.h"
#include "server/request/access/access_rules.h"
#include "serving/pool/model_pool.h"

namespace inferflux::apps {

// Reads the files of keys that the settings name.
Result<server::AccessRules> AccessRulesOf(const config::Settings& settings);
serving::RoutingPolicy RoutingPolicyOf(const config::Settings& settings);

// What is reloaded; the references must outlive the reloader.
struct Running {
  server::ApiServer& server;
  serving::ModelPool& pool;
  std::shared_ptr<net::TlsContext> tls;  // null: plain HTTP
};

class Reloader {
 public:
  // `settings` are those that the server started with.
  Reloader(config::Settings settings, std::function<Result<config::Settings>()> resolve, Running running)
      : started_(settings), last_(std::move(settings)), resolve_(std::move(resolve)), running_(std::move(running)) {}

  void Reload();

 private:
  Status Apply();

  const config::Settings started_;  // what runs, but for what can be reloaded
  config::Settings last_;           // as it was read last
  const std::function<Result<config::Settings>()> resolve_;
  const Running running_;
};

}  // namespace inferflux::apps
