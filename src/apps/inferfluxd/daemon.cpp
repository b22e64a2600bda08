#include "apps/inferfluxd/daemon.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include "apps/inferfluxd/embedded_model.h"
#include "apps/inferfluxd/stop_signals.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "metrics/registry.h"
#include "routing/built_in_engines.h"
#include "routing/load_model.h"
#include "routing/model_registry.h"
#include "server/api_server.h"

namespace inferflux::apps {
namespace {

using config::Settings;

// Each stream is a file descriptor, and the usual limit of 1,024 is for programs that use select().
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

net::ServerOptions NetOptions(const Settings& settings) {
  net::ServerOptions out;
  out.host = settings.Text("server.host");
  out.port = static_cast<uint16_t>(settings.Integer("server.port"));
  out.io_threads = static_cast<int>(settings.Integer("server.io_threads"));
  out.max_body_bytes = static_cast<size_t>(settings.Bytes("server.max_body_bytes"));
  out.max_connections = static_cast<size_t>(settings.Integer("server.max_connections"));
  return out;
}

std::vector<std::string> SplitWords(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == ',') {
      out.emplace_back();
    } else if (c != ' ') {
      out.back() += c;
    }
  }
  return out;
}

routing::LoadRequest MakeLoadRequest(const Settings& settings, const config::ModelSetting& model,
                                     metrics::Registry& metrics) {
  routing::LoadRequest out;
  out.id = model.id;
  out.path = model.path;
  out.requested_backend = settings.Text("runtime.backend");
  out.backends = SplitWords(out.requested_backend);
  out.context = model.context;
  out.kv_dtype = settings.Text("runtime.kv_dtype");
  out.kv_bytes = settings.Bytes("runtime.kv_budget");
  out.max_batch_tokens = static_cast<int32_t>(settings.Integer("runtime.max_batch_tokens"));
  out.max_queued = static_cast<int32_t>(settings.Integer("runtime.max_queue"));
  out.metrics = &metrics;
  return out;
}

Result<std::vector<config::ModelSetting>> ModelsToServe(const Settings& settings) {
  if (!settings.models().empty()) return settings.models();
  auto path = FindEmbeddedModel();
  if (!path) return Forward(path);
  config::ModelSetting model;
  model.id = kEmbeddedModelId;
  model.path = std::move(*path);
  return std::vector{model};
}

Status LoadModels(const Settings& settings, const routing::BackendFactory& factory, metrics::Registry& metrics,
                  routing::ModelRegistry& registry) {
  auto models = ModelsToServe(settings);
  if (!models) return Forward(models);
  for (const config::ModelSetting& model : *models) {
    auto loaded = routing::LoadModel(factory, MakeLoadRequest(settings, model, metrics));
    if (!loaded) return Forward(loaded, "model '" + model.id + "'");
    if (Status added = registry.Add(std::move(*loaded), model.is_default); !added) return added;
  }
  return {};
}

// The address for people and scripts: one that can be connected to, also where all are listened on.
std::string UrlOf(const std::string& host, uint16_t port) {
  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(host, no_address);
  if (no_address) return fmt::format("http://{}:{}", host, port);
  if (address.is_unspecified()) return fmt::format("http://{}:{}", address.is_v6() ? "[::1]" : "127.0.0.1", port);
  return address.is_v6() ? fmt::format("http://[{}]:{}", host, port) : fmt::format("http://{}:{}", host, port);
}

// Readers see the whole line or none.
Status WritePortFile(const std::string& path, const std::string& url) {
  if (path.empty()) return {};
  const std::string partial = path + ".partial";
  std::ofstream(partial) << url << '\n';
  if (std::rename(partial.c_str(), path.c_str()) != 0)
    return Fail(ErrorCode::kIo, "cannot write the port file {}", path);
  return {};
}

void WarnOfOpenDoor(const Settings& settings) {
  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(settings.Text("server.host"), no_address);
  if (!no_address && !address.is_loopback() && settings.Text("server.api_keys_file").empty()) {
    log::Warning(
        "listening on {} without API keys: everyone who reaches this machine can use it (server.api_keys_file)",
        settings.Text("server.host"));
  }
}

routing::ExposurePolicy Policy(const Settings& settings) {
  return {.prefer_native = settings.Switch("runtime.backend_exposure.prefer_native"),
          .allow_llama_fallback = settings.Switch("runtime.backend_exposure.allow_llama_fallback")};
}

Result<server::ApiKeys> LoadKeys(const Settings& settings) {
  const std::string& path = settings.Text("server.api_keys_file");
  return path.empty() ? server::ApiKeys() : server::ApiKeys::Load(path);
}

// Serves until a signal comes or the models cannot be loaded.
Status Serve(const DaemonOptions& options) {
  const Settings& settings = options.settings;
  auto keys = LoadKeys(settings);
  if (!keys) return Forward(keys);
  const auto threads = static_cast<int>(settings.Integer("runtime.threads"));
  ThreadPool pool(threads > 0 ? threads : UsableCores());
  metrics::Registry metrics;
  const routing::BackendFactory factory(routing::BuiltInEngines(pool), Policy(settings));
  routing::ModelRegistry registry;
  auto server = server::ApiServer::Start(NetOptions(settings), std::move(*keys), registry, metrics);
  if (!server) return Forward(server);
  const std::string url = UrlOf(settings.Text("server.host"), (*server)->port());
  log::Info("listening on {}", url);
  WarnOfOpenDoor(settings);
  if (Status written = WritePortFile(options.port_file, url); !written) return written;

  Status loaded;
  std::atomic<bool> loading{true};
  std::thread loader([&] {
    loaded = LoadModels(settings, factory, metrics, registry);
    loading = false;
    if (loaded) {
      (*server)->SetReady();
    } else {
      RequestStop();
    }
  });
  WaitForStop();
  RestoreStopSignals();
  log::Info("stopping");
  (*server)->Stop(std::chrono::seconds(settings.Integer("server.grace_seconds")));
  if (loading) std::quick_exit(0);  // a load cannot be called off, and nothing that it does outlives the process
  loader.join();
  return loaded;
}

}  // namespace

int RunDaemon(const DaemonOptions& options) {
  if (const auto level = log::ParseLevel(options.settings.Text("log.level"))) log::SetLevel(*level);
  BlockStopSignals();
  RaiseDescriptorLimit();
  if (Status served = Serve(options); !served) {
    log::Error("{}", served.error().message);
    return 1;
  }
  return 0;
}

void PrintBackends() {
  ThreadPool pool(1);
  for (const routing::EngineEntry& engine : routing::BuiltInEngines(pool)) {
    fmt::print("{:10} {:10} {}\n", routing::Traits(engine.target).name, routing::ProviderName(engine.provider),
               engine.make ? "yes" : "no: " + engine.why_absent);
  }
}

}  // namespace inferflux::apps
