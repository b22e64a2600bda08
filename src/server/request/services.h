// The services that endpoints use. Each server has one object, which outlives every request.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>

#include "metrics/registry.h"
#include "server/request/api_keys.h"
#include "serving/models/model_manager.h"
#include "serving/models/model_registry.h"

namespace inferflux::server {

struct Services {
  serving::ModelRegistry& models;
  serving::ModelManager& manager;
  metrics::Registry& metrics;
  ApiKeys keys;
  bool page = true;                // whether / serves the page
  std::atomic<bool> ready{false};  // every configured model is loaded and warm, or has failed to load; one serves
  // Parses, renders and tokenises, so that a huge prompt does not block a socket.
  boost::asio::thread_pool preparation{2};
  // Loads and unloads models, one at a time; each may take long.
  boost::asio::thread_pool administration{1};
};

}  // namespace inferflux::server
