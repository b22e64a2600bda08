// inferctl status: whether the server is up, its version, and its current load.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct StatusFlags {
  bool ready = false;
};

// The server says it in a line a model.
std::string WhyNotReady(std::string_view body) {
  std::string out = "not ready: ";
  for (const char c : body.substr(0, body.find_last_not_of('\n') + 1)) out += c == '\n' ? ' ' : c;
  return out;
}

int RunStatus(const CommandContext& context, const StatusFlags& flags) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  const auto ready = client->GetRaw("/readyz");
  if (!ready) return Complain(ready.error());
  const auto version = client->Get("/version");
  if (!version) return Complain(version.error());
  const auto health = client->Get("/healthz");
  if (!health) return Complain(health.error());
  const int code = flags.ready && ready->status != 200 ? kFailed : kOk;
  if (context.json) {
    const json::value* models = health->is_object() ? health->get_object().if_contains("models") : nullptr;
    const int printed = PrintJson(json::object{{"url", context.settings.Text("client.url")},
                                               {"version", *version},
                                               {"ready", ready->status == 200},
                                               {"models", models == nullptr ? json::value() : *models}});
    return printed != kOk ? printed : code;
  }
  try {
    fmt::print("{} {} at {}: {}\n", version->at("name").as_string().c_str(), version->at("version").as_string().c_str(),
               context.settings.Text("client.url"), ready->status == 200 ? "ready" : WhyNotReady(ready->body));
    for (const json::value& model : health->at("models").as_array()) {
      fmt::print("  {} on {}: {} running, {} waiting\n", model.at("id").as_string().c_str(),
                 model.at("backend").as_string().c_str(), model.at("running").as_int64(),
                 model.at("queued").as_int64());
    }
  } catch (const std::exception&) {
    return Complain("what answers there is not InferFlux");
  }
  return code;
}

}  // namespace

Run AddStatus(Command& app) {
  auto flags = std::make_shared<StatusFlags>();
  Command status = app.AddCommand("status", "show whether the server is up, and its load");
  status.AddFlag("--ready", flags->ready, "exit with 1 unless all models are loaded");
  return [flags](const CommandContext& context) { return RunStatus(context, *flags); };
}

}  // namespace inferflux::apps
