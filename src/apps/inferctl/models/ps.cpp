// inferctl ps: the loaded models, their load, and how long they stay.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <ctime>
#include <string>
#include <utility>

#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/json_member.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

// Joins what two endpoints say of the same models: /api/ps has sizes and times, /healthz the load.
json::array Join(const json::value& running, const json::value& health) {
  json::array out;
  const json::value* models = Member(running, "models");
  const json::value* loads = Member(health, "models");
  if (models == nullptr || !models->is_array()) return out;
  for (const json::value& model : models->get_array()) {
    if (!model.is_object()) continue;
    json::object entry = model.get_object();
    if (loads != nullptr && loads->is_array()) {
      for (const json::value& load : loads->get_array()) {
        if (Show(load, "id") != Show(model, "name")) continue;
        for (const char* name : {"backend", "running", "queued"}) {
          if (const json::value* value = Member(load, name)) entry[name] = *value;
        }
      }
    }
    out.push_back(std::move(entry));
  }
  return out;
}

std::string Size(const json::value& model) {
  const json::value* bytes = Member(model, "size");
  if (bytes == nullptr || !bytes->is_int64()) return "-";
  const auto size = static_cast<double>(bytes->get_int64());
  return size >= 1e9 ? fmt::format("{:.1f} GB", size / 1e9) : fmt::format("{:.1f} MB", size / 1e6);
}

// When an idle model is unloaded. Ollama writes the year 9999 for a model that stays.
std::string Until(const std::string& expires) {
  std::tm time{};
  if (expires.starts_with("9999")) return "it is unloaded";
  if (::strptime(expires.c_str(), "%Y-%m-%dT%H:%M:%S", &time) == nullptr) return expires;
  const auto left = std::chrono::sys_seconds(std::chrono::seconds(::timegm(&time))) - std::chrono::system_clock::now();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left).count();
  if (seconds <= 0) return "its last request ends";
  return seconds < 120 ? fmt::format("{} s from now", seconds) : fmt::format("{} min from now", seconds / 60);
}

int RunPs(const CommandContext& context) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  const auto running = client->Get("/api/ps");
  if (!running) return Complain(running.error());
  const auto health = client->Get("/healthz");
  if (!health) return Complain(health.error());
  json::array models = Join(*running, *health);
  if (context.json) return PrintJson(json::object{{"models", std::move(models)}});
  constexpr const char* kRow = "{:24} {:10} {:>10} {:>8} {:>8} {:>8}  {}\n";
  fmt::print(fmt::runtime(kRow), "ID", "BACKEND", "SIZE", "CONTEXT", "RUNNING", "WAITING", "STAYS UNTIL");
  for (const json::value& model : models) {
    fmt::print(fmt::runtime(kRow), Show(model, "name"), Show(model, "backend"), Size(model),
               Show(model, "context_length"), Show(model, "running"), Show(model, "queued"),
               Until(Show(model, "expires_at")));
  }
  return kOk;
}

}  // namespace

Run AddPs(Command& app) {
  app.AddCommand("ps", "list the loaded models with their load, and how long they stay");
  return RunPs;
}

}  // namespace inferflux::apps
