// The services that endpoints use. Each server has one object, which outlives every request.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "metrics/registry.h"
#include "server/request/api_keys.h"
#include "server/request/object_store.h"
#include "serving/models/model_registry.h"
#include "serving/pool/model_pool.h"

namespace inferflux::worker {
class WorkerManager;
}

namespace inferflux::server {

class BackgroundRuns;

struct Services {
  serving::ModelRegistry& models;
  serving::ModelPool& pool;
  metrics::Registry& metrics;
  ApiKeys keys;
  worker::WorkerManager* workers = nullptr;  // null: this process runs the models itself
  bool page = true;                          // whether / serves the page
  std::unique_ptr<ObjectStore> objects;      // stored responses and conversations
  std::shared_ptr<BackgroundRuns> background;
  std::atomic<bool> ready{false};  // every configured model is loaded and warm, or has failed to load; one serves
  // Parses, renders and tokenises, so that a huge prompt does not block a socket.
  boost::asio::thread_pool preparation{2};
  // Unloads models, one at a time: an unload waits for the model's requests.
  boost::asio::thread_pool administration{1};
};

}  // namespace inferflux::server
