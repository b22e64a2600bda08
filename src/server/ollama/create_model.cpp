#include "server/ollama/create_model.h"

#include <boost/json/array.hpp>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "server/ollama/ollama_fields.h"
#include "server/ollama/ollama_messages.h"
#include "server/request/fields.h"
#include "text/chat_template.h"

namespace inferflux::server {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

constexpr size_t kAnyCreateText = std::numeric_limits<size_t>::max();  // only the body's size limit applies
constexpr int64_t kMostRecipeContext = 1 << 24;
constexpr std::string_view kFileSuffix = ".gguf";

struct CreateFields {
  std::string model;
  std::string name;  // its older name
  std::string from;
  std::string chat_template;
  std::string system;
  std::optional<std::string> license;
  json::object parameters;
  std::optional<json::array> messages;
  bool stream = true;
};

ApiStatus TakeLicense(const json::value& value, std::string_view param, CreateFields& out) {
  const json::array one{value};
  const auto list = value.is_string() ? &one : ReadArray(value, param, 64).value_or(nullptr);
  if (list == nullptr) return Refuse(param, "must be a string, or a list of up to 64 strings");
  std::string all;
  for (size_t i = 0; i < list->size(); ++i) {
    const auto text = ReadText((*list)[i], EntryName(param, i, list->size()), kAnyCreateText);
    if (!text) return Forward(text);
    all += (i > 0 ? "\n" : "") + *text;
  }
  out.license = std::move(all);
  return {};
}

ApiStatus TakeDefaultOptions(const json::value& value, std::string_view param, CreateFields& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  out.parameters = **object;
  return {};
}

ApiStatus TakeFirstMessages(const json::value& value, std::string_view param, CreateFields& out) {
  return ReadOllamaMessages(value, param).map([&](json::array list) { out.messages = std::move(list); });
}

constexpr Field<CreateFields> kCreateFields[] = {
    {"model", TextField<CreateFields>{&CreateFields::model, 256}},
    {"name", TextField<CreateFields>{&CreateFields::name, 256}},
    {"from", TextField<CreateFields>{&CreateFields::from, 4096}},
    {"template", TextField<CreateFields>{&CreateFields::chat_template, kAnyCreateText}},
    {"system", TextField<CreateFields>{&CreateFields::system, kAnyCreateText}},
    {"license", CustomField<CreateFields>{TakeLicense}},
    {"parameters", CustomField<CreateFields>{TakeDefaultOptions}},
    {"messages", CustomField<CreateFields>{TakeFirstMessages}},
    {"stream", BooleanField<CreateFields>{&CreateFields::stream}},
    {"files", NoOpField{"{}"}},
    {"adapters", NoOpField{"{}"}},
    {"modelfile", NoOpField{"\"\""}},
    {"quantize", NoOpField{"\"\""}},
};

constexpr std::string_view kNoUpload =
    "cannot be used: no file is uploaded here; put it into the models directory and name it in 'from'";
// What to do in place of a field that is refused.
constexpr std::pair<std::string_view, std::string_view> kRefusals[] = {
    {"files", kNoUpload},
    {"adapters", kNoUpload},
    {"modelfile", "is not read; send 'from', 'template', 'system' and 'parameters', as Ollama's clients do"},
    {"quantize", "cannot be used: quantise the file with inferflux-quantize, and name the result in 'from'"},
};

ApiStatus RefuseConversions(const json::object& body) {
  for (const auto& [name, why] : kRefusals) {
    const json::value* value = body.if_contains(name);
    const bool empty = value == nullptr || value->is_null() || *value == json::object() || *value == json::string();
    if (!empty) return Refuse(name, "{}", why);
  }
  return {};
}

// The name of the model that `from` means: a name, a file's name, or a path that leads to an entry of the directory.
ApiResult<std::string> SourceName(const serving::ModelsDirectory& directory, const std::string& from) {
  std::string out = WithoutTag(from);
  if (out.find('/') != std::string::npos) {
    std::error_code error;
    const fs::path place = fs::path(directory.path()) / out;  // an absolute path stays what it is
    const fs::path folder = fs::canonical(place.parent_path(), error);
    if (error || folder != fs::path(directory.path())) {
      return Refuse("from", "must name a file or directory in {}", directory.path());
    }
    out = place.filename().string();
  }
  if (out.ends_with(kFileSuffix)) out.resize(out.size() - kFileSuffix.size());
  return out;
}

// Checks the parameters as the options of a request, and sorts them into the recipe.
ApiStatus SetParameters(serving::ModelRecipe& recipe) {
  OllamaFields fields;
  fields.model = "recipe";
  json::object options = recipe.parameters;
  recipe.context = 0;
  if (const json::value* context = options.if_contains("num_ctx")) {
    const auto count = ReadInteger(*context, "parameters.num_ctx", 1, kMostRecipeContext);
    if (!count) return Forward(count);
    recipe.context = static_cast<int32_t>(*count);
    options.erase("num_ctx");
  }
  if (options.contains("logit_bias")) return Refuse("parameters.logit_bias", "can only be set by a request");
  if (ApiStatus taken = ReadOllamaOptions(options, "parameters", fields); !taken) return taken;
  if (ApiStatus finished = FinishOllamaFields(fields); !finished) return finished;
  recipe.max_tokens = fields.max_tokens;
  recipe.stop = fields.stop;
  recipe.sampling.clear();
  for (const std::string_view name : fields.sampling.given) {
    const bool penalty = name == "repetition_penalty" && options.contains("repeat_penalty");
    recipe.sampling[name] = options.at(penalty ? "repeat_penalty" : json::string_view(name.data(), name.size()));
  }
  if (fields.repeat_last_n == 0) recipe.sampling.erase("repetition_penalty");  // no text is looked at
  return {};
}

ApiStatus SetTemplate(const std::string& source, serving::ModelRecipe& recipe) {
  if (source.empty()) return {};
  const auto compiled = text::ChatTemplate::Compile(source);
  if (!compiled || source.find("{{ .") != std::string::npos || source.find("{{.") != std::string::npos) {
    return Refuse("template", "must be a Jinja2 chat template, as in tokenizer_config.json, not one of Go{}",
                  compiled ? std::string() : ": " + compiled.error().message);
  }
  recipe.chat_template = source;
  return {};
}

}  // namespace

std::string WithoutTag(std::string name) {
  constexpr std::string_view kTag = ":latest";
  if (name.ends_with(kTag)) name.resize(name.size() - kTag.size());
  return name;
}

ApiResult<serving::ModelRecipe> RecipeOf(const serving::ModelsDirectory& directory, const std::string& name,
                                         std::string_view param) {
  const auto path = directory.Find(name);
  if (!path && path.error().code == ErrorCode::kNotFound) {
    return tl::make_unexpected(
        ApiError{404, path.error().message, "invalid_request_error", std::string(param), "model_not_found"});
  }
  if (!path) return tl::make_unexpected(FromError(path.error(), param));
  if (!serving::IsRecipe(*path)) {
    serving::ModelRecipe out;
    out.from = fs::path(*path).filename().string();
    return out;
  }
  auto recipe = serving::ReadRecipe(*path);
  if (!recipe) return tl::make_unexpected(FromError(recipe.error(), param));
  return std::move(*recipe);
}

ApiResult<CreateModel> ParseCreateModel(const json::object& body, const serving::ModelsDirectory& directory) {
  if (ApiStatus usable = RefuseConversions(body); !usable) return Forward(usable);
  CreateFields fields;
  if (ApiStatus taken = ParseObject<CreateFields>(kCreateFields, "", body, fields); !taken) return Forward(taken);
  CreateModel out{.name = WithoutTag(fields.model.empty() ? fields.name : fields.model), .stream = fields.stream};
  if (out.name.empty()) return RefuseAs("missing_required_parameter", "model", "'model' is missing");
  if (fields.from.empty()) {
    return RefuseAs("missing_required_parameter", "from",
                    fmt::format("'from' is missing: a model of {}", directory.path()));
  }
  const auto from = SourceName(directory, fields.from);
  if (!from) return Forward(from);
  auto recipe = RecipeOf(directory, *from, "from");
  if (!recipe) return Forward(recipe);
  out.recipe = std::move(*recipe);
  if (!fields.system.empty()) out.recipe.system = std::move(fields.system);
  if (fields.license) out.recipe.license = std::move(*fields.license);
  if (fields.messages) out.recipe.messages = std::move(*fields.messages);
  for (const auto& [name, value] : fields.parameters) out.recipe.parameters[name] = value;
  if (ApiStatus set = SetTemplate(fields.chat_template, out.recipe); !set) return Forward(set);
  if (ApiStatus set = SetParameters(out.recipe); !set) return Forward(set);
  return out;
}

std::vector<FieldRow> CreateModelFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<CreateFields>(kCreateFields, out);
  return out;
}

}  // namespace inferflux::server
