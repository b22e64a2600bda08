// What the endpoints work with. One object a server; it outlives every request.
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
  bool page = true;                // whether / is the page
  std::atomic<bool> ready{false};  // every configured model is loaded and warm, or has failed to load; one serves
  // Parses, renders and tokenises, so that a huge prompt holds up no socket.
  boost::asio::thread_pool preparation{2};
  // Loads and unloads models, one at a time, for as long as that takes.
  boost::asio::thread_pool administration{1};
};

}  // namespace inferflux::server
