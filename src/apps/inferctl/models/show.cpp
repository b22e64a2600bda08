// inferctl show: what the server knows of one model.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/json_member.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

struct ShowFlags {
  std::string id;
  bool chat_template = false;
};

void Line(std::string_view name, const std::string& value) {
  if (value != "-") fmt::print("{:14} {}\n", name, value);
}

// The names of the capabilities that are true.
std::string Abilities(const json::value& model) {
  const json::value* all = Member(model, "capabilities");
  if (all == nullptr || !all->is_object()) return "-";
  std::string out;
  for (const auto& [name, value] : all->get_object()) {
    if (value.is_bool() && value.get_bool()) out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out.empty() ? "-" : out;
}

void PrintModel(const json::value& model) {
  Line("id", Show(model, "id"));
  Line("state", Show(model, "status", "value"));
  Line("error", Show(model, "status", "error"));
  Line("path", Show(model, "path"));
  Line("format", Show(model, "format"));
  Line("architecture", Show(model, "details", "architecture"));
  Line("parameters", Show(model, "details", "parameters"));
  Line("weights", Show(model, "details", "quantization"));
  Line("context", Show(model, "details", "context"));
  Line("vocabulary", Show(model, "details", "vocab_size"));
  Line("embedding", Show(model, "details", "embedding_dimensions"));
  Line("KV type", Show(model, "details", "kv_dtype"));
  Line("KV tokens", Show(model, "details", "kv_tokens"));
  Line("backend", Show(model, "backend_exposure", "exposed_backend"));
  Line("provider", Show(model, "backend_exposure", "provider"));
  Line("asked for", Show(model, "backend_exposure", "requested_backend"));
  Line("fallback", Show(model, "backend_exposure", "fallback_reason"));
  Line("can", Abilities(model));
  const json::value* details = Member(model, "details");
  const json::value* notes = details == nullptr ? nullptr : Member(*details, "notes");
  if (notes == nullptr || !notes->is_array()) return;
  for (const json::value& note : notes->get_array()) Line("note", Show(&note));
}

int PrintTemplate(ApiClient& client, const CommandContext& context, const std::string& id) {
  const auto answer = client.Post("/api/show", {{"model", id}});
  if (!answer) return Complain(answer.error());
  const std::string text = Show(*answer, "template");
  if (text == "-") return Complain(fmt::format("the model '{}' has no chat template", id));
  if (context.json) return PrintJson(json::object{{"template", text}});
  fmt::print("{}\n", text);
  return kOk;
}

int RunShow(const CommandContext& context, const ShowFlags& flags) {
  auto client = ApiClient::Create(context.settings);
  if (!client) return Complain(client.error());
  if (flags.chat_template) return PrintTemplate(*client, context, flags.id);
  const auto answer = client->Get("/v1/models/" + PathSegment(flags.id));
  if (!answer) return Complain(answer.error());
  if (context.json) return PrintJson(*answer);
  PrintModel(*answer);
  return kOk;
}

}  // namespace

Run AddShow(Command& app) {
  auto flags = std::make_shared<ShowFlags>();
  Command show = app.AddCommand("show", "print what the server knows of a model");
  show.Add("MODEL", flags->id, "the model's id").Required();
  show.AddFlag("--template", flags->chat_template, "print its chat template; this loads the model");
  return [flags](const CommandContext& context) { return RunShow(context, *flags); };
}

}  // namespace inferflux::apps
