#include "serving/models/model_recipe.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace inferflux::serving {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFormatKey = "inferflux_recipe";
constexpr int64_t kRecipeFormat = 1;
constexpr int64_t kMostRecipeTokens = 1 << 24;

// Takes one member of the file; false if it has the wrong type, or if there is no such member.
bool TakeMember(std::string_view key, json::value& value, ModelRecipe& out) {
  const auto text = [&](std::string& into) {
    if (!value.is_string()) return false;
    into = value.as_string();
    return true;
  };
  const auto count = [&](int32_t& into) {
    if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() > kMostRecipeTokens) return false;
    into = static_cast<int32_t>(value.get_int64());
    return true;
  };
  const auto object = [&](json::object& into) {
    if (!value.is_object()) return false;
    into = std::move(value.get_object());
    return true;
  };
  if (key == kFormatKey) return value == kRecipeFormat;
  if (key == "from") return text(out.from);
  if (key == "template") return text(out.chat_template);
  if (key == "system") return text(out.system);
  if (key == "license") return text(out.license);
  if (key == "context") return count(out.context);
  if (key == "max_tokens") return count(out.max_tokens);
  if (key == "sampling") return object(out.sampling);
  if (key == "parameters") return object(out.parameters);
  if (key == "messages") {
    if (!value.is_array()) return false;
    out.messages = std::move(value.get_array());
    return std::ranges::all_of(out.messages, [](const json::value& each) { return each.is_object(); });
  }
  if (key != "stop" || !value.is_array()) return false;
  for (const json::value& each : value.get_array()) {
    if (!each.is_string() || each.get_string().empty()) return false;
    out.stop.emplace_back(each.get_string());
  }
  return true;
}

}  // namespace

bool IsRecipe(std::string_view path) { return path.ends_with(kRecipeSuffix); }

Result<ModelRecipe> ReadRecipe(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error || size > kMostRecipeBytes) {
    return Fail(ErrorCode::kDataLoss, "{}: a recipe of a model must be a file of at most {} bytes", path,
                kMostRecipeBytes);
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) return Fail(ErrorCode::kIo, "cannot read {}", path);
  return ParseRecipe(text, path);
}

Result<ModelRecipe> ParseRecipe(std::string_view text, const std::string& path) {
  json::error_code wrong;
  json::value parsed = json::parse({text.data(), text.size()}, wrong, {}, {.max_depth = 64});
  if (wrong || !parsed.is_object()) {
    return Fail(ErrorCode::kDataLoss, "{}: a recipe of a model must be a JSON object; create the model again", path);
  }
  ModelRecipe out;
  for (auto& member : parsed.get_object()) {
    if (TakeMember(member.key(), member.value(), out)) continue;
    return Fail(ErrorCode::kDataLoss, "{}: the member '{}' of a recipe is unknown or wrong; create the model again",
                path, std::string_view(member.key()));
  }
  if (out.from.empty()) return Fail(ErrorCode::kDataLoss, "{}: the recipe names no file in 'from'", path);
  return out;
}

std::string RecipeJson(const ModelRecipe& recipe) {
  json::object out;
  out[kFormatKey] = kRecipeFormat;
  out["from"] = recipe.from;
  if (!recipe.chat_template.empty()) out["template"] = recipe.chat_template;
  if (!recipe.system.empty()) out["system"] = recipe.system;
  if (!recipe.license.empty()) out["license"] = recipe.license;
  if (!recipe.messages.empty()) out["messages"] = recipe.messages;
  if (recipe.context > 0) out["context"] = recipe.context;
  if (recipe.max_tokens > 0) out["max_tokens"] = recipe.max_tokens;
  if (!recipe.stop.empty()) out["stop"] = json::array(recipe.stop.begin(), recipe.stop.end());
  if (!recipe.sampling.empty()) out["sampling"] = recipe.sampling;
  if (!recipe.parameters.empty()) out["parameters"] = recipe.parameters;
  return json::serialize(out);
}

Result<std::string> BaseOf(const std::string& path, const ModelRecipe& recipe) {
  std::error_code error;
  const fs::path directory = fs::canonical(fs::absolute(path, error).parent_path(), error);
  const bool plain = recipe.from.find('/') == std::string::npos && !recipe.from.starts_with('.');
  if (error || !plain || IsRecipe(recipe.from)) {
    return Fail(ErrorCode::kDataLoss, "{}: 'from' must name a file or directory beside it, not '{}'", path,
                recipe.from);
  }
  const fs::path base = fs::canonical(directory / recipe.from, error);
  if (error) {
    return Fail(ErrorCode::kNotFound, "{}: the model is made of {}, which is not in {}", path, recipe.from,
                directory.string());
  }
  if (std::mismatch(directory.begin(), directory.end(), base.begin(), base.end()).first != directory.end()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: {} is a link that leads out of {}", path, recipe.from,
                directory.string());
  }
  return (directory / recipe.from).string();
}

}  // namespace inferflux::serving
