// A Hugging Face model's generation_config.json: its default sampling, and the tokens that end an answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "formats/json/json_object.h"

namespace inferflux::formats {

struct HfGenerationConfig {
  std::vector<TokenId> eos;  // each of them ends the answer
  std::optional<TokenId> bos, pad;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int32_t> top_k;
  std::optional<bool> do_sample;
};

Result<HfGenerationConfig> ParseHfGenerationConfig(const JsonObject& root);
// The file is optional: empty if there is none.
Result<std::optional<HfGenerationConfig>> ReadHfGenerationConfig(const std::string& directory);

}  // namespace inferflux::formats
