// The reply to POST /v1/embeddings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inferflux::server {

// The first `dimensions` values, scaled to length 1 if the whole vector was.
std::vector<float> Shorten(std::vector<float> vector, size_t dimensions, bool normalised);

// [0.25,-1], each number in the shortest form that parses to the same float.
std::string FloatsJson(std::span<const float> vector);
// "AACAPg==": little-endian float32.
std::string Base64Json(std::span<const float> vector);

// `vectors`: one JSON text for each input.
std::string EmbeddingsJson(std::span<const std::string> vectors, std::string_view model, int64_t prompt_tokens);

}  // namespace inferflux::server
