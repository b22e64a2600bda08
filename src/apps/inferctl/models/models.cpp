// inferctl models and inferctl list: the models of the server, loaded or not.

#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"
#include "apps/inferctl/models/model_table.h"

namespace inferflux::apps {
namespace {

int RunModels(const CommandContext& context) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  const auto answer = client->Get("/v1/models");
  if (!answer) return Complain(answer.error());
  return context.json ? PrintJson(*answer) : PrintModelTable(*answer);
}

}  // namespace

Run AddModels(Command& app) {
  app.AddCommand("models", "list the models that the server serves or can load, and what runs them");
  return RunModels;
}

Run AddList(Command& app) {
  app.AddCommand("list", "the same as models");
  return RunModels;
}

}  // namespace inferflux::apps
