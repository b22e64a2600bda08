// The reply to POST /v1/embeddings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace inferflux::server {

// "AACAPg==": little-endian float32.
std::string Base64Json(std::span<const float> vector);

// `vectors`: one JSON text for each input.
std::string EmbeddingsJson(std::span<const std::string> vectors, std::string_view model, int64_t prompt_tokens);

}  // namespace inferflux::server
