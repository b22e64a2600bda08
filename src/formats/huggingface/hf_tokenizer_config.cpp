#include "formats/huggingface/hf_tokenizer_config.h"

#include <filesystem>

#include "base/mapped_file.h"
#include "formats/byte_reader.h"

namespace inferflux::formats {
namespace {

constexpr size_t kMaxTemplateBytes = size_t{16} << 20;

// A token is a string, or an object with the string in "content".
Status ReadToken(const JsonObject& root, std::string_view key, std::optional<std::string>& out) {
  const boost::json::value* value = root.FindValue(key);
  if (value == nullptr) return {};
  const auto token =
      value->is_object() ? root.Get<JsonObject>(key)->Get<std::string>("content") : root.Get<std::string>(key);
  if (!token) return Forward(token);
  out = *token;
  return {};
}

// One template, or a list of {name, template}, of which "default" is the one for conversations.
Status ReadTemplates(const JsonObject& root, HfTokenizerConfig& config) {
  const boost::json::value* value = root.FindValue("chat_template");
  if (value == nullptr) return {};
  if (!value->is_array()) {
    auto text = root.Get<std::string>("chat_template");
    if (!text) return Forward(text);
    config.chat_template = std::move(*text);
    return {};
  }
  const auto entries = root.Get<std::vector<JsonObject>>("chat_template");
  if (!entries) return Forward(entries);
  for (const JsonObject& entry : *entries) {
    const auto name = entry.Get<std::string>("name");
    if (!name) return Forward(name);
    auto text = entry.Get<std::string>("template");
    if (!text) return Forward(text);
    if (*name == "default") {
      config.chat_template = std::move(*text);
    } else {
      config.named_templates.emplace_back(*name, std::move(*text));
    }
  }
  return {};
}

}  // namespace

Result<HfTokenizerConfig> ParseHfTokenizerConfig(JsonObject root) {
  HfTokenizerConfig config{.raw = std::move(root)};
  const JsonObject& object = config.raw;
  auto kind = object.GetOr<std::string>("tokenizer_class", "");
  if (!kind) return Forward(kind);
  config.tokenizer_class = std::move(*kind);
  const std::pair<std::string_view, std::optional<std::string>*> tokens[] = {
      {"bos_token", &config.bos}, {"eos_token", &config.eos}, {"unk_token", &config.unk},  {"sep_token", &config.sep},
      {"pad_token", &config.pad}, {"cls_token", &config.cls}, {"mask_token", &config.mask}};
  for (const auto& [key, out] : tokens) {
    if (auto read = ReadToken(object, key, *out); !read) return Forward(read);
  }
  const std::pair<std::string_view, std::optional<bool>*> flags[] = {{"add_bos_token", &config.add_bos},
                                                                     {"add_eos_token", &config.add_eos},
                                                                     {"add_prefix_space", &config.add_prefix_space},
                                                                     {"legacy", &config.legacy}};
  for (const auto& [key, out] : flags) {
    const auto flag = object.Find<bool>(key);
    if (!flag) return Forward(flag);
    *out = *flag;
  }
  if (auto read = ReadTemplates(object, config); !read) return Forward(read);
  return config;
}

Result<HfTokenizerConfig> ReadHfTokenizerConfig(const std::string& directory) {
  namespace fs = std::filesystem;
  const std::string path = (fs::path(directory) / "tokenizer_config.json").string();
  auto root = JsonObject::ReadFile(path);
  if (!root && root.error().code == ErrorCode::kNotFound) root = JsonObject::Parse("{}", path);
  if (!root) return Forward(root);
  auto config = ParseHfTokenizerConfig(std::move(*root));
  if (!config) return config;
  const auto file = MappedFile::Open((fs::path(directory) / "chat_template.jinja").string());
  if (file) {
    if ((*file)->bytes().size() > kMaxTemplateBytes) {
      return Fail(ErrorCode::kDataLoss, "{}: {} bytes; at most {} are read", (*file)->path(), (*file)->bytes().size(),
                  kMaxTemplateBytes);
    }
    config->chat_template = std::string(AsText((*file)->bytes()));
  } else if (file.error().code != ErrorCode::kNotFound) {
    return Forward(file);
  }
  return config;
}

}  // namespace inferflux::formats
