// inferctl admin: loads, unloads and inspects the models of a running server.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"
#include "apps/inferctl/models/model_table.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct AdminFlags {
  std::string path;
  std::string id;
  std::string backend;
  std::string kv_dtype;
  std::string draft;
  std::optional<std::string> device;
  std::optional<int64_t> context, gpu_layers, keep_alive;
  bool is_default = false;
  bool pin = false;
  bool json = false;
  int64_t grace = 30;
  std::optional<std::string> fallback, ready, scope, pinned;
};

int Print(const Result<json::value>& answer) { return answer ? PrintJson(*answer) : Complain(answer.error()); }

int List(ApiClient& client, const AdminFlags& flags) {
  const auto answer = client.Get("/v1/admin/models");
  if (!answer || flags.json) return Print(answer);
  return PrintModelTable(*answer);
}

int Load(ApiClient& client, const AdminFlags& flags) {
  json::object body = {{"default", flags.is_default}, {"pin", flags.pin}};
  if (!flags.path.empty()) body["path"] = flags.path;
  if (!flags.id.empty()) body["id"] = flags.id;
  if (!flags.backend.empty()) body["backend"] = flags.backend;
  if (!flags.kv_dtype.empty()) body["kv_dtype"] = flags.kv_dtype;
  if (!flags.draft.empty()) body["draft"] = flags.draft;
  if (flags.context) body["context"] = *flags.context;
  if (flags.device) body["device"] = *flags.device;
  if (flags.gpu_layers) body["gpu_layers"] = *flags.gpu_layers;
  if (flags.keep_alive) body["keep_alive"] = *flags.keep_alive;
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  json::object last;
  const Status done = client.Stream("/v1/admin/models", std::move(body), [&](const json::object& event) {
    last = event;
    const json::value* progress = event.if_contains("progress");
    if (terminal && progress != nullptr && progress->is_double()) {
      fmt::print(stderr, "\rloading {:3.0f}%", 100 * progress->get_double());
    }
  });
  if (terminal) fmt::print(stderr, "\r\033[K");
  if (!done) return Complain(done.error());
  if (flags.json) return PrintJson(last);
  return PrintModelTable(json::object{{"data", json::array{std::move(last)}}});
}

int Unload(ApiClient& client, const AdminFlags& flags) {
  return Print(client.Change(
      "DELETE", fmt::format("/v1/admin/models/{}?grace_seconds={}", PathSegment(flags.id), flags.grace), {}));
}

int Keep(ApiClient& client, const AdminFlags& flags) {
  json::object body;
  if (flags.keep_alive) body["keep_alive"] = *flags.keep_alive;
  if (flags.pinned) body["pin"] = *flags.pinned == "true";
  return Print(client.Change("PATCH", "/v1/admin/models/" + PathSegment(flags.id), std::move(body)));
}

int Default(ApiClient& client, const AdminFlags& flags) {
  return Print(client.Change("PUT", "/v1/admin/models/default", {{"id", flags.id}}));
}

int Routing(ApiClient& client, const AdminFlags& flags) {
  json::object body;
  if (flags.fallback) body["allow_default_fallback"] = *flags.fallback == "true";
  if (flags.ready) body["require_ready_backend"] = *flags.ready == "true";
  if (flags.scope) body["fallback_scope"] = *flags.scope;
  if (body.empty()) return Print(client.Get("/v1/admin/routing"));
  return Print(client.Change("PUT", "/v1/admin/routing", std::move(body)));
}

int Cache(ApiClient& client, const AdminFlags&) { return Print(client.Get("/v1/admin/cache")); }
int Pools(ApiClient& client, const AdminFlags&) { return Print(client.Get("/v1/admin/pools")); }

}  // namespace

Run AddAdmin(Command& app) {
  auto flags = std::make_shared<AdminFlags>();
  Command admin = app.AddCommand("admin", "load, unload and inspect the models of a running server");
  admin.RequireCommand();
  admin.AddCommand("models", "list the models that are loaded or loading");
  Command load = admin.AddCommand("load", "load a model");
  load.Add(
      "path", flags->path,
      "GGUF file or Hugging Face directory, as the server sees it; none: --id names a model that the server can load");
  load.Add("--id", flags->id, "its id; the file's name unless given");
  load.Add("--on", flags->backend, "the backend to run it on");
  load.Add("--kv-dtype", flags->kv_dtype, "type of its cached keys and values");
  load.Add("--device", flags->device, "which of the backend's devices: number, UUID, PCI address or name");
  load.Add("--gpu-layers", flags->gpu_layers, "layers that llama.cpp puts on a GPU; -1: as many as fit");
  load.Add("--draft", flags->draft, "file of a smaller model with the same tokens, for speculative decoding");
  load.Add("--context", flags->context, "tokens a sequence may have");
  load.Add("--keep-alive", flags->keep_alive,
           "seconds that it stays loaded without users; -1: until its memory is needed");
  load.AddFlag("--pin", flags->pin, "keep it loaded until it is unloaded by name");
  load.AddFlag("--default", flags->is_default, "make it the default model");
  Command unload = admin.AddCommand("unload", "unload a model");
  unload.Add("id", flags->id, "the model").Required();
  unload.Add("--grace", flags->grace, "seconds that its requests may continue").ShowsDefault();
  Command keep = admin.AddCommand("keep", "change how long a loaded model stays");
  keep.Add("id", flags->id, "the model").Required();
  keep.Add("--keep-alive", flags->keep_alive, "seconds that it stays without users; -1: until its memory is needed");
  keep.Add("--pin", flags->pinned, "whether it stays until it is unloaded by name").OneOf({"true", "false"});
  Command chosen_default = admin.AddCommand("default", "make a model the default one");
  chosen_default.Add("id", flags->id, "the model").Required();
  Command routing = admin.AddCommand("routing", "show or change how requests on the default route find a backend");
  routing.Add("--allow-default-fallback", flags->fallback, "whether they may switch models").OneOf({"true", "false"});
  routing.Add("--require-ready-backend", flags->ready, "only switch to a model that is ready").OneOf({"true", "false"});
  routing.Add("--fallback-scope", flags->scope, "to which").OneOf({"same_path_only", "any_compatible"});
  admin.AddCommand("cache", "show the contents of the models' KV caches");
  admin.AddCommand("pools", "show what the models' schedulers do");
  return [flags, admin](const CommandContext& context) {
    static constexpr std::pair<std::string_view, int (*)(ApiClient&, const AdminFlags&)> kRuns[] = {
        {"models", List},     {"load", Load},       {"unload", Unload}, {"keep", Keep},
        {"default", Default}, {"routing", Routing}, {"cache", Cache},   {"pools", Pools}};
    auto client = ApiClient::Create(context.settings);
    if (!client) return Complain(client.error());
    const auto run = std::ranges::find(kRuns, admin.chosen(), [](const auto& each) { return each.first; });
    flags->json = context.json;
    return run->second(*client, *flags);
  };
}

}  // namespace inferflux::apps
