// What the endpoints work with. One object a server; it outlives every request.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>

#include "metrics/registry.h"
#include "routing/model_registry.h"
#include "server/api_keys.h"

namespace inferflux::server {

struct Services {
  const routing::ModelRegistry& models;
  metrics::Registry& metrics;
  ApiKeys keys;
  std::atomic<bool> ready{false};  // every configured model is loaded and warm
  // Parses, renders and tokenises, so that a huge prompt holds up no socket.
  boost::asio::thread_pool preparation{2};
};

}  // namespace inferflux::server
