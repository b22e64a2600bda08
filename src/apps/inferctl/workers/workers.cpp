// inferctl workers: the worker processes of a running server.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct WorkersFlags {
  std::string id;
  bool json = false;
};

std::string Text(const json::object& worker, std::string_view name) {
  const json::value* value = worker.if_contains(name);
  if (value == nullptr) return "-";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

int ListWorkers(ApiClient& client, const WorkersFlags& flags) {
  const auto answer = client.Get("/v1/admin/workers");
  if (!answer) return Complain(answer.error());
  if (flags.json) return PrintJson(*answer);
  constexpr std::string_view kRow = "{:12} {:20} {:16} {:10} {:>8} {:>9} {:>8}  {}\n";
  fmt::print(kRow, "worker", "model", "backend", "state", "pid", "in flight", "restarts", "last end");
  for (const json::value& entry : answer->as_object().at("data").as_array()) {
    const json::object& worker = entry.as_object();
    fmt::print(kRow, Text(worker, "id"), Text(worker, "model"), Text(worker, "backend"), Text(worker, "state"),
               Text(worker, "pid"), Text(worker, "in_flight"), Text(worker, "restarts"), Text(worker, "last_end"));
  }
  return kOk;
}

int PrintLog(ApiClient& client, const WorkersFlags& flags) {
  const auto answer = client.Get("/v1/admin/workers/" + PathSegment(flags.id) + "/log");
  if (!answer) return Complain(answer.error());
  if (flags.json) return PrintJson(*answer);
  for (const json::value& line : answer->as_object().at("lines").as_array()) {
    fmt::print("{}\n", std::string_view(line.as_string()));
  }
  return kOk;
}

int Post(ApiClient& client, const WorkersFlags& flags, std::string_view what) {
  const auto answer = client.Change("POST", fmt::format("/v1/admin/workers/{}/{}", PathSegment(flags.id), what), {});
  if (!answer) return Complain(answer.error());
  return flags.json ? PrintJson(*answer) : kOk;
}

}  // namespace

Run AddWorkers(Command& app) {
  auto flags = std::make_shared<WorkersFlags>();
  Command workers = app.AddCommand("workers", "the worker processes of a running server (inferfluxd --pool)");
  workers.RequireCommand();
  workers.AddCommand("list", "list them");
  const auto with_id = [&](const char* name, const char* help) {
    workers.AddCommand(name, help).Add("id", flags->id, "the worker, as the list names it").Required();
  };
  with_id("drain", "end one when its requests have ended; it stays ended until it is restarted");
  with_id("restart", "end one when its requests have ended, and start it again");
  with_id("logs", "print the last lines of its log");
  return [flags, workers](const CommandContext& context) {
    auto client = ApiClient::Create(context.settings);
    if (!client) return Complain(client.error());
    flags->json = context.json;
    const std::string chosen = workers.chosen();
    if (chosen == "list") return ListWorkers(*client, *flags);
    if (chosen == "logs") return PrintLog(*client, *flags);
    return Post(*client, *flags, chosen);
  };
}

}  // namespace inferflux::apps
