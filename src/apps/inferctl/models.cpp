// inferctl models: what the server serves.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdio>

#include "apps/inferctl/api_client.h"
#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

// A member of an object as text; "-" where there is none, as on other servers of the same API.
std::string Show(const json::value& object, std::string_view name) {
  const json::value* value = object.is_object() ? object.get_object().if_contains(name) : nullptr;
  if (value == nullptr) return "-";
  if (value->is_string()) return std::string(value->get_string());
  if (value->is_int64()) return std::to_string(value->get_int64());
  return "-";
}

json::value Member(const json::value& object, std::string_view name) {
  const json::value* value = object.is_object() ? object.get_object().if_contains(name) : nullptr;
  return value == nullptr ? json::value() : *value;
}

int RunModels(const CommandContext& context) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  const auto answer = client->Get("/v1/models");
  if (!answer) return Complain(answer.error());
  const json::value data = Member(*answer, "data");
  if (!data.is_array()) return Complain("the server's list of models has an unknown form");
  constexpr const char* kRow = "{:24} {:8} {:10} {:10} {:8} {:>10}\n";
  fmt::print(fmt::runtime(kRow), "ID", "BACKEND", "PROVIDER", "FAMILY", "WEIGHTS", "CONTEXT");
  for (const json::value& model : data.get_array()) {
    const json::value ours = Member(model, "inferflux");
    const json::value exposure = Member(ours, "backend_exposure");
    fmt::print(fmt::runtime(kRow), Show(model, "id"), Show(exposure, "exposed_backend"), Show(exposure, "provider"),
               Show(ours, "architecture"), Show(ours, "quantization"), Show(ours, "context"));
  }
  return kOk;
}

}  // namespace

Run AddModels(CLI::App& app) {
  app.add_subcommand("models", "list the models that the server serves");
  return RunModels;
}

}  // namespace inferflux::apps
