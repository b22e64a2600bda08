// inferctl admin: loads, unloads and looks after the models of a running server.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "apps/inferctl/api_client.h"
#include "apps/inferctl/command.h"
#include "apps/inferctl/model_table.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct AdminFlags {
  std::string path;
  std::string id;
  std::string backend;
  std::string kv_dtype;
  std::string draft;
  std::optional<int64_t> context, device, gpu_layers;
  bool is_default = false;
  int64_t grace = 30;
  std::optional<std::string> fallback, ready, scope;
};

using AdminRun = int (*)(ApiClient&, const AdminFlags&);

int Show(const Result<json::value>& answer) {
  if (!answer) return Complain(answer.error());
  fmt::print("{}\n", json::serialize(*answer));
  return kOk;
}

int List(ApiClient& client, const AdminFlags&) {
  const auto answer = client.Get("/v1/admin/models");
  if (!answer) return Complain(answer.error());
  return PrintModelTable(*answer);
}

int Load(ApiClient& client, const AdminFlags& flags) {
  json::object body = {{"path", flags.path}, {"default", flags.is_default}};
  if (!flags.id.empty()) body["id"] = flags.id;
  if (!flags.backend.empty()) body["backend"] = flags.backend;
  if (!flags.kv_dtype.empty()) body["kv_dtype"] = flags.kv_dtype;
  if (!flags.draft.empty()) body["draft"] = flags.draft;
  if (flags.context) body["context"] = *flags.context;
  if (flags.device) body["device"] = *flags.device;
  if (flags.gpu_layers) body["gpu_layers"] = *flags.gpu_layers;
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
  return PrintModelTable(json::object{{"data", json::array{std::move(last)}}});
}

int Unload(ApiClient& client, const AdminFlags& flags) {
  return Show(client.Change("DELETE", fmt::format("/v1/admin/models/{}?grace_seconds={}", flags.id, flags.grace), {}));
}

int Default(ApiClient& client, const AdminFlags& flags) {
  return Show(client.Change("PUT", "/v1/admin/models/default", {{"id", flags.id}}));
}

int Routing(ApiClient& client, const AdminFlags& flags) {
  json::object body;
  if (flags.fallback) body["allow_default_fallback"] = *flags.fallback == "true";
  if (flags.ready) body["require_ready_backend"] = *flags.ready == "true";
  if (flags.scope) body["fallback_scope"] = *flags.scope;
  if (body.empty()) return Show(client.Get("/v1/admin/routing"));
  return Show(client.Change("PUT", "/v1/admin/routing", std::move(body)));
}

int Cache(ApiClient& client, const AdminFlags&) { return Show(client.Get("/v1/admin/cache")); }
int Pools(ApiClient& client, const AdminFlags&) { return Show(client.Get("/v1/admin/pools")); }

CLI::App* AddOne(CLI::App& admin, const std::string& name, const std::string& help, AdminRun run,
                 std::shared_ptr<AdminRun> chosen) {
  CLI::App* sub = admin.add_subcommand(name, help);
  sub->callback([run, chosen] { *chosen = run; });
  return sub;
}

}  // namespace

Run AddAdmin(CLI::App& app) {
  auto flags = std::make_shared<AdminFlags>();
  auto chosen = std::make_shared<AdminRun>(nullptr);
  CLI::App* admin = app.add_subcommand("admin", "load, unload and look after the models of a running server");
  admin->require_subcommand(1);
  AddOne(*admin, "models", "list models, also those that are being loaded", List, chosen);
  CLI::App* load = AddOne(*admin, "load", "load a model", Load, chosen);
  load->add_option("path", flags->path, "GGUF file or Hugging Face directory, as the server sees it")->required();
  load->add_option("--id", flags->id, "its id; the file's name unless given");
  load->add_option("--on", flags->backend, "the backend to run it on");
  load->add_option("--kv-dtype", flags->kv_dtype, "type of its cached keys and values");
  load->add_option("--device", flags->device, "which of the backend's devices, as `inferctl backends` numbers them");
  load->add_option("--gpu-layers", flags->gpu_layers, "layers that llama.cpp puts on a GPU; -1: all");
  load->add_option("--draft", flags->draft, "file of a smaller model with the same tokens, to guess ahead with");
  load->add_option("--context", flags->context, "tokens a sequence may have");
  load->add_flag("--default", flags->is_default, "make it the default model");
  CLI::App* unload = AddOne(*admin, "unload", "take a model off the server", Unload, chosen);
  unload->add_option("id", flags->id, "the model")->required();
  unload->add_option("--grace", flags->grace, "seconds that its requests may go on")->capture_default_str();
  CLI::App* chosen_default = AddOne(*admin, "default", "make a model the default one", Default, chosen);
  chosen_default->add_option("id", flags->id, "the model")->required();
  CLI::App* routing = AddOne(*admin, "routing", "show or change how requests on the default route find a backend",
                             Routing, chosen);
  const CLI::IsMember truth({"true", "false"});
  routing->add_option("--allow-default-fallback", flags->fallback, "whether they may switch")->check(truth);
  routing->add_option("--require-ready-backend", flags->ready, "only to a model that is ready")->check(truth);
  routing->add_option("--fallback-scope", flags->scope, "to which")->check(CLI::IsMember({"same_path_only", "any_compatible"}));
  AddOne(*admin, "cache", "show what the models' KV holds", Cache, chosen);
  AddOne(*admin, "pools", "show what the models' step loops do", Pools, chosen);
  return [flags, chosen](const CommandContext& context) {
    auto client = ApiClient::Create(context.settings);
    if (!client) return Complain(client.error());
    return (*chosen)(*client, *flags);
  };
}

}  // namespace inferflux::apps
