#include "server/ollama/ollama_models.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/version/version.h"
#include "server/ollama/ollama_error.h"
#include "server/ollama/ollama_reply.h"
#include "server/ollama/prepare_ollama.h"
#include "server/request/access/api_keys.h"
#include "server/request/fields.h"
#include "server/request/first_use.h"
#include "server/request/json_body.h"
#include "serving/models/model_recipe.h"
#include "text/infill_marks.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

net::Response OllamaJson(const json::object& body) {
  return net::Response(200, "application/json", json::serialize(body));
}

// "4.7M", "8.0B"
std::string ParameterSize(int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  if (parameters >= 1'000'000'000) return fmt::format("{:.1f}B", count / 1e9);
  if (parameters >= 1'000'000) return fmt::format("{:.2f}M", count / 1e6);
  return fmt::format("{:.2f}K", count / 1e3);
}

json::object OllamaDetails(const serving::ServedModel& model) {
  json::object out;
  out["parent_model"] = model.recipe ? model.recipe->from : "";
  out["format"] = model.info.format;
  out["family"] = model.info.architecture;
  out["families"] = json::array{json::value(model.info.architecture)};
  out["parameter_size"] = ParameterSize(model.info.parameters);
  out["quantization_level"] = model.info.quantization;
  return out;
}

int64_t WeightBytes(const serving::ServedModel& model, bool devices_only) {
  int64_t out = 0;
  for (const auto& memory : model.info.memory) {
    if (devices_only && memory.device == "cpu") continue;
    out += static_cast<int64_t>(memory.weight_bytes);
  }
  return out;
}

// Differs between models, but is not a hash of the file's contents, which would take long.
std::string DigestOf(const serving::ServedModel& model) {
  const auto hash = keys::HashOf(fmt::format("{}\n{}\n{}\n{}\n{}", model.info.path, model.info.architecture,
                                             model.info.quantization, model.info.parameters, model.info.created));
  std::string out;
  for (const uint8_t byte : hash) out += fmt::format("{:02x}", byte);
  return out;
}

std::string LoadTime(const serving::ServedModel& model) {
  return OllamaTime(std::chrono::system_clock::time_point(std::chrono::seconds(model.info.created)));
}

json::object OllamaEntry(const serving::ServedModel& model) {
  json::object out;
  out["name"] = model.id;
  out["model"] = model.id;
  out["size"] = WeightBytes(model, false);
  out["digest"] = DigestOf(model);
  out["details"] = OllamaDetails(model);
  return out;
}

// A model that could be loaded, with what its file says without being opened.
json::object UnloadedEntry(const serving::UnloadedModel& model) {
  std::error_code ignored;
  std::filesystem::path path(model.path);
  std::string parent;
  if (serving::IsRecipe(model.path)) {
    if (const auto recipe = serving::ReadRecipe(model.path)) parent = recipe->from;
    path = path.parent_path() / parent;
  }
  const bool directory = std::filesystem::is_directory(path, ignored);
  const auto size = directory ? 0 : std::filesystem::file_size(path, ignored);
  const auto written = std::filesystem::last_write_time(path, ignored);
  json::object details;
  details["parent_model"] = parent;
  details["format"] = directory ? "huggingface" : "gguf";
  json::object out;
  out["name"] = model.id;
  out["model"] = model.id;
  out["modified_at"] = OllamaTime(std::chrono::file_clock::to_sys(written));
  out["size"] = ignored ? 0 : static_cast<int64_t>(size);
  out["details"] = std::move(details);
  return out;
}

// When the model leaves if no request comes.
std::string ExpiresAt(const std::optional<serving::ModelStay>& stay) {
  if (!stay || stay->pinned || stay->keep_alive == serving::kKeepLoaded) return "9999-12-31T23:59:59Z";
  const auto now = std::chrono::steady_clock::now();
  const auto left = (stay->users > 0 ? now : stay->idle_since) + stay->keep_alive - now;
  return OllamaTime(std::chrono::system_clock::now() +
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(left));
}

json::array OllamaCapabilities(const serving::ServedModel& model) {
  json::array out;
  if (model.capabilities.completions) out.push_back("completion");
  if (model.capabilities.chat && model.tool_calls) out.push_back("tools");
  if (model.capabilities.completions && text::FindInfillMarks(*model.tokenizer)) out.push_back("insert");
  if (model.capabilities.chat && model.reasoning) out.push_back("thinking");
  if (model.capabilities.embeddings) out.push_back("embedding");
  return out;
}

// The parameters of a recipe, a line each, as a Modelfile has them: `stop "a"`.
std::string ParameterLines(const serving::ModelRecipe& recipe, std::string_view prefix) {
  std::string out;
  for (const auto& [name, value] : recipe.parameters) {
    const json::array one{value};
    for (const json::value& each : value.is_array() ? value.get_array() : one) {
      out += fmt::format("{}{} {}\n", prefix, std::string_view(name), json::serialize(each));
    }
  }
  return out;
}

std::string ModelfileOf(const serving::ServedModel& model) {
  if (!model.recipe) return fmt::format("FROM {}\n", std::filesystem::path(model.info.path).filename().string());
  const serving::ModelRecipe& recipe = *model.recipe;
  std::string out = fmt::format("FROM {}\n", recipe.from);
  if (!recipe.chat_template.empty()) out += fmt::format("TEMPLATE \"\"\"{}\"\"\"\n", recipe.chat_template);
  if (!recipe.system.empty()) out += fmt::format("SYSTEM \"\"\"{}\"\"\"\n", recipe.system);
  return out + ParameterLines(recipe, "PARAMETER ");
}

struct ShowRequest {
  std::string model;
  std::string name;
  bool verbose = false;
};
constexpr Field<ShowRequest> kShowFields[] = {
    {"model", TextField<ShowRequest>{&ShowRequest::model, 256}},
    {"name", TextField<ShowRequest>{&ShowRequest::name, 256}},
    {"verbose", BooleanField<ShowRequest>{&ShowRequest::verbose}},
};

ApiResult<json::object> Show(const Services& services, const net::Request& request) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  ShowRequest parsed;
  if (ApiStatus taken = ParseObject<ShowRequest>(kShowFields, "", *body, parsed); !taken) return Forward(taken);
  if (parsed.model.empty()) parsed.model = parsed.name;
  if (parsed.model.empty()) return RefuseAs("missing_required_parameter", "model", "'model' is missing");
  const auto found = FindOllamaModel(services, parsed.model, {});
  if (!found) return Forward(found);
  const serving::ServedModel& model = **found;
  const std::string& family = model.info.architecture;
  json::object info;
  info["general.architecture"] = family;
  info["general.parameter_count"] = model.info.parameters;
  info[family + ".context_length"] = model.info.context;
  info[family + ".vocab_size"] = model.info.vocab_size;
  if (model.info.embedding.dimensions > 0) info[family + ".embedding_length"] = model.info.embedding.dimensions;
  json::object out;
  out["modelfile"] = ModelfileOf(model);
  out["parameters"] = model.recipe ? ParameterLines(*model.recipe, "") : "";
  if (model.recipe && !model.recipe->system.empty()) out["system"] = model.recipe->system;
  if (model.recipe && !model.recipe->license.empty()) out["license"] = model.recipe->license;
  out["template"] = model.chat_template ? model.chat_template->source() : "";
  out["details"] = OllamaDetails(model);
  out["model_info"] = std::move(info);
  out["capabilities"] = OllamaCapabilities(model);
  out["modified_at"] = LoadTime(model);
  return out;
}

}  // namespace

net::Response OllamaTags(Services& services, const net::Request&) {
  json::array models;
  for (const auto& model : services.models.List()) {
    json::object entry = OllamaEntry(*model);
    entry["modified_at"] = LoadTime(*model);
    models.push_back(std::move(entry));
  }
  for (const auto& model : services.pool.Unloaded()) models.push_back(UnloadedEntry(model));
  return OllamaJson({{"models", std::move(models)}});
}

net::Response OllamaRunning(Services& services, const net::Request&) {
  json::array models;
  for (const auto& model : services.models.List()) {
    json::object entry = OllamaEntry(*model);
    entry["size_vram"] = WeightBytes(*model, true);
    entry["context_length"] = model->info.context;
    entry["expires_at"] = ExpiresAt(services.pool.Stay(model->id));
    models.push_back(std::move(entry));
  }
  return OllamaJson({{"models", std::move(models)}});
}

asio::awaitable<void> OllamaShow(Services& services, const Caller& caller, const net::Request& request,
                                 net::ResponseWriter& writer) {
  const Prepare<json::object> prepare = [&](const Caller&) { return Show(services, request); };
  const Prepared<json::object> shown = co_await PrepareWithModel<json::object>(services, caller, prepare, writer);
  net::Response reply = *shown ? OllamaJson(**shown) : OllamaErrorResponse(shown->error());
  co_await writer.Send(std::move(reply));
}

net::Response OllamaVersion(Services&, const net::Request&) { return OllamaJson({{"version", kVersion}}); }

net::Response RefuseTransfer(Services&, const net::Request&) {
  return OllamaErrorResponse({400,
                              "this server does not download or upload models; put a GGUF file or a Hugging Face "
                              "directory on its machine, and load it with `inferctl admin load` or "
                              "POST /v1/admin/models"});
}

}  // namespace inferflux::server
