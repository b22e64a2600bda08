#include "server/ollama/ollama_changes.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/log.h"
#include "server/ollama/create_model.h"
#include "server/ollama/ollama_error.h"
#include "server/reply/unload_model.h"
#include "server/request/fields.h"
#include "server/request/json_body.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::seconds kReplacedGrace{30};

ApiResult<const serving::ModelsDirectory*> DirectoryOf(const Services& services) {
  const auto& directory = services.pool.directory();
  if (directory) return &*directory;
  return tl::make_unexpected(ApiError{400,
                                      "this server has no models directory to change: start it with --models-dir DIR",
                                      "invalid_request_error", "", "no_models_directory"});
}

ApiError FromDirectory(const Error& error, std::string_view param) {
  if (error.code != ErrorCode::kNotFound) return FromError(error, param);
  return {404, error.message, "invalid_request_error", std::string(param), "model_not_found"};
}

// Whether the name belongs to a model that no recipe makes: one of the settings, of an admin call, or a file.
bool IsTaken(const Services& services, const std::string& name) {
  if (const auto loaded = services.pool.GetLoadedModel(name)) return (*loaded)->recipe == nullptr;
  const auto path = services.pool.PathOf(name);
  return path && !serving::IsRecipe(*path);
}

ApiStatus SaveModel(const Services& services, const std::string& name, const serving::ModelRecipe& recipe,
                    std::string_view param) {
  if (name == "default" || IsTaken(services, name)) {
    return Refuse(param, "must not be '{}': this server has a model of that name, which is not replaced", name);
  }
  if (Status saved = services.pool.directory()->SaveRecipe(name, serving::RecipeJson(recipe)); !saved) {
    return tl::make_unexpected(FromDirectory(saved.error(), param));
  }
  log::Info("the model {} is made of {}", name, recipe.from);
  return {};
}

ApiResult<CreateModel> SaveCreated(const Services& services, const net::Request& request) {
  const auto directory = DirectoryOf(services);
  if (!directory) return Forward(directory);
  const auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto created = ParseCreateModel(*body, **directory);
  if (!created) return Forward(created);
  if (ApiStatus saved = SaveModel(services, created->name, created->recipe, "model"); !saved) return Forward(saved);
  return created;
}

struct CopyFields {
  std::string source;
  std::string destination;
};
constexpr Field<CopyFields> kCopyFields[] = {
    {"source", TextField<CopyFields>{&CopyFields::source, 256}},
    {"destination", TextField<CopyFields>{&CopyFields::destination, 256}},
};

// The name of the copy.
ApiResult<std::string> SaveCopy(const Services& services, const net::Request& request) {
  const auto directory = DirectoryOf(services);
  if (!directory) return Forward(directory);
  const auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  CopyFields copy;
  if (ApiStatus taken = ParseObject<CopyFields>(kCopyFields, "", *body, copy); !taken) return Forward(taken);
  for (const char* name : {"source", "destination"}) {
    if (!body->contains(name)) {
      return RefuseAs("missing_required_parameter", name, fmt::format("'{}' is missing", name));
    }
  }
  const auto recipe = RecipeOf(**directory, WithoutTag(copy.source), "source");
  if (!recipe) return Forward(recipe);
  std::string name = WithoutTag(copy.destination);
  if (ApiStatus saved = SaveModel(services, name, *recipe, "destination"); !saved) return Forward(saved);
  return name;
}

struct DeleteFields {
  std::string model;
  std::string name;  // its older name
};
constexpr Field<DeleteFields> kDeleteFields[] = {
    {"model", TextField<DeleteFields>{&DeleteFields::model, 256}},
    {"name", TextField<DeleteFields>{&DeleteFields::name, 256}},
};

// The name of what was deleted.
ApiResult<std::string> RemoveModel(const Services& services, const net::Request& request) {
  const auto directory = DirectoryOf(services);
  if (!directory) return Forward(directory);
  const auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  DeleteFields fields;
  if (ApiStatus taken = ParseObject<DeleteFields>(kDeleteFields, "", *body, fields); !taken) return Forward(taken);
  std::string name = WithoutTag(fields.model.empty() ? fields.name : fields.model);
  if (name.empty()) return RefuseAs("missing_required_parameter", "model", "'model' is missing");
  if (Status removed = (*directory)->RemoveRecipe(name); !removed) {
    return tl::make_unexpected(FromDirectory(removed.error(), "model"));
  }
  log::Info("the model {} is deleted", name);
  return name;
}

// A loaded model of that name is what it was before the change; its next use loads what it is now.
asio::awaitable<void> Forget(Services& services, const std::string& name) {
  auto loaded = services.pool.GetLoadedModel(name);
  const bool stale = loaded && (*loaded)->recipe != nullptr;
  loaded = {};  // the unload waits for users
  if (stale) co_await UnloadModel(services, name, kReplacedGrace);
}

asio::awaitable<void> AnswerChange(Services& services, const ApiResult<std::string>& name,
                                   net::ResponseWriter& writer) {
  if (!name) {
    co_await writer.Send(OllamaErrorResponse(name.error()));
    co_return;
  }
  co_await Forget(services, *name);
  net::Response done(200, "application/json");
  co_await writer.Send(std::move(done));
}

}  // namespace

asio::awaitable<void> CreateOllamaModel(Services& services, const net::Request& request, net::ResponseWriter& writer) {
  const auto created = SaveCreated(services, request);
  if (!created) {
    co_await writer.Send(OllamaErrorResponse(created.error()));
    co_return;
  }
  co_await Forget(services, created->name);
  net::Response done(200, "application/json", R"({"status":"success"})");
  if (created->stream) {
    done.content_type = "application/x-ndjson";
    done.body = "{\"status\":\"writing manifest\"}\n" + done.body + "\n";
  }
  co_await writer.Send(std::move(done));
}

asio::awaitable<void> CopyOllamaModel(Services& services, const net::Request& request, net::ResponseWriter& writer) {
  const auto name = SaveCopy(services, request);
  co_await AnswerChange(services, name, writer);
}

asio::awaitable<void> DeleteOllamaModel(Services& services, const net::Request& request, net::ResponseWriter& writer) {
  const auto name = RemoveModel(services, request);
  co_await AnswerChange(services, name, writer);
}

}  // namespace inferflux::server
