// inferctl stop and inferctl rm: unload a model, or delete it from the server's disk.
#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <memory>
#include <string>

#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/json_member.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct RemoveFlags {
  std::string id;
  int64_t grace = 30;
};

int RunStop(const CommandContext& context, const RemoveFlags& flags) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  const auto answer = client->Change(
      "DELETE", fmt::format("/v1/admin/models/{}?grace_seconds={}", PathSegment(flags.id), flags.grace), {});
  if (!answer) return Complain(answer.error());
  if (context.json) return PrintJson(*answer);
  fmt::print("{} is unloaded\n", flags.id);
  if (const std::string now = Show(*answer, "default"); now != "-") fmt::print("the default model is {}\n", now);
  return kOk;
}

int RunRm(const CommandContext& context, const RemoveFlags& flags) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  const auto answer = client->Change("DELETE", "/api/delete", {{"model", flags.id}});
  if (!answer) return Complain(answer.error());
  if (context.json) return PrintJson(json::object{{"id", flags.id}, {"deleted", true}});
  fmt::print("{} is deleted\n", flags.id);
  return kOk;
}

}  // namespace

Run AddStop(Command& app) {
  auto flags = std::make_shared<RemoveFlags>();
  Command stop = app.AddCommand("stop", "unload a model, and free its memory (scope admin)");
  stop.Add("MODEL", flags->id, "the model's id").Required();
  stop.Add("--grace", flags->grace, "seconds that its requests may continue").ShowsDefault();
  return [flags](const CommandContext& context) { return RunStop(context, *flags); };
}

Run AddRm(Command& app) {
  auto flags = std::make_shared<RemoveFlags>();
  Command rm = app.AddCommand("rm", "delete a model from the server's disk, where the server allows it");
  rm.Add("MODEL", flags->id, "the model's id").Required();
  return [flags](const CommandContext& context) { return RunRm(context, *flags); };
}

}  // namespace inferflux::apps
