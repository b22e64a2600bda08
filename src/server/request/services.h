// The services that endpoints use. Each server has one object, which outlives every request.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <memory>

#include "metrics/registry.h"
#include "server/request/access/access_rules.h"
#include "server/request/access/login_guard.h"
#include "server/request/limits/client_table.h"
#include "server/request/limits/preparation_pool.h"
#include "server/request/trace/traced_call.h"
#include "server/store/batch_store.h"
#include "server/store/file_store.h"
#include "server/store/object_store.h"
#include "serving/models/model_registry.h"
#include "serving/pool/model_pool.h"

namespace inferflux::worker {
class WorkerManager;
}

namespace inferflux::server {

class BackgroundRuns;
class BatchRunner;

struct Services {
  serving::ModelRegistry& models;
  serving::ModelPool& pool;
  metrics::Registry& metrics;
  CurrentRules access;
  LoginGuard logins{};
  Tracing tracing{};
  std::chrono::seconds request_timeout{0};   // of every request that runs a model; 0: none
  worker::WorkerManager* workers = nullptr;  // null: this process runs the models itself
  bool page = true;                          // whether / serves the page
  std::unique_ptr<ObjectStore> objects;      // stored responses and conversations
  std::shared_ptr<BackgroundRuns> background;
  std::unique_ptr<FileStore> files;
  std::unique_ptr<BatchStore> batches;
  std::shared_ptr<BatchRunner> batch_runner;
  std::atomic<bool> draining{false};   // the server stops: it takes no more generations
  std::atomic<int32_t> generating{0};  // calls of endpoints that run a model, now
  std::atomic<bool> ready{false};      // every configured model is loaded and warm, or has failed to load; one serves
  ClientTable clients{metrics};
  PreparationPool preparation{PreparationLimits()};
  // Unloads models, one at a time: an unload waits for the model's requests.
  boost::asio::thread_pool administration{1};
};

}  // namespace inferflux::server
