// A Hugging Face model's tokenizer_config.json: the special tokens by role, and the chat template.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/json/json_object.h"

namespace inferflux::formats {

struct HfTokenizerConfig {
  std::string tokenizer_class;  // "LlamaTokenizerFast"; empty if the file has none
  // Texts, not ids: tokenizer.json maps them.
  std::optional<std::string> bos, eos, unk, sep, pad, cls, mask;
  std::optional<bool> add_bos, add_eos, add_prefix_space, legacy;
  // The template that conversations use, and others by name ("tool_use").
  std::optional<std::string> chat_template;
  std::vector<std::pair<std::string, std::string>> named_templates;
  JsonObject raw;
};

Result<HfTokenizerConfig> ParseHfTokenizerConfig(JsonObject root);
// A missing file gives an empty result. If chat_template.jinja exists beside it, that is the chat template.
Result<HfTokenizerConfig> ReadHfTokenizerConfig(const std::string& directory);

}  // namespace inferflux::formats
