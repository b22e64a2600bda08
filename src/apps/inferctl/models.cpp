// inferctl models: lists the models of the server, loaded or not.

#include "apps/inferctl/api_client.h"
#include "apps/inferctl/command.h"
#include "apps/inferctl/model_table.h"

namespace inferflux::apps {
namespace {

int RunModels(const CommandContext& context) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  const auto answer = client->Get("/v1/models");
  if (!answer) return Complain(answer.error());
  return PrintModelTable(*answer);
}

}  // namespace

Run AddModels(Command& app) {
  app.AddCommand("models", "list the models that the server serves or can load");
  return RunModels;
}

}  // namespace inferflux::apps
