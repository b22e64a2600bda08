// inferctl models: what the server serves.
#include <CLI/CLI.hpp>

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

Run AddModels(CLI::App& app) {
  app.add_subcommand("models", "list the models that the server serves");
  return RunModels;
}

}  // namespace inferflux::apps
