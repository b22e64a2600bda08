#include "formats/huggingface/hf_generation_config.h"

#include <filesystem>

#include "formats/huggingface/hf_config.h"

namespace inferflux::formats {

Result<HfGenerationConfig> ParseHfGenerationConfig(const JsonObject& root) {
  HfGenerationConfig config;
  auto eos = ReadTokenIds(root, "eos_token_id");
  if (!eos) return Forward(eos);
  config.eos = std::move(*eos);
  Status status;
  const auto read = [&]<class T>(std::string_view key, std::optional<T>& out) {
    auto found = root.Find<T>(key);
    if (found) {
      out = *found;
    } else if (status) {
      status = Forward(found);
    }
  };
  read("bos_token_id", config.bos);
  read("pad_token_id", config.pad);
  read("temperature", config.temperature);
  read("top_p", config.top_p);
  read("min_p", config.min_p);
  read("repetition_penalty", config.repetition_penalty);
  read("top_k", config.top_k);
  read("do_sample", config.do_sample);
  if (!status) return Forward(status);
  return config;
}

Result<std::optional<HfGenerationConfig>> ReadHfGenerationConfig(const std::string& directory) {
  auto root = JsonObject::ReadFile((std::filesystem::path(directory) / "generation_config.json").string());
  if (!root && root.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!root) return Forward(root);
  auto config = ParseHfGenerationConfig(*root);
  if (!config) return Forward(config);
  return std::optional(std::move(*config));
}

}  // namespace inferflux::formats
