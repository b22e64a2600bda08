#include "server/openai/embeddings/embedding_format.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <bit>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <iterator>

namespace inferflux::server {

std::string Base64Json(std::span<const float> vector) {
  static_assert(std::endian::native == std::endian::little);
  const auto bytes = static_cast<int>(vector.size_bytes());
  std::string letters(static_cast<size_t>((bytes + 2) / 3 * 4 + 1), '\0');  // the encoder appends a zero byte
  const int count = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(letters.data()),
                                    reinterpret_cast<const unsigned char*>(vector.data()), bytes);
  letters.resize(static_cast<size_t>(count));
  return '"' + letters + '"';
}

std::string EmbeddingsJson(std::span<const std::string> vectors, std::string_view model, int64_t prompt_tokens) {
  std::string out = R"({"object":"list","data":[)";
  for (size_t i = 0; i < vectors.size(); ++i) {
    fmt::format_to(std::back_inserter(out), R"({}{{"object":"embedding","index":{},"embedding":{}}})", i > 0 ? "," : "",
                   i, vectors[i]);
  }
  const std::string name = boost::json::serialize(boost::json::string(model));
  fmt::format_to(std::back_inserter(out), R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})", name,
                 prompt_tokens, prompt_tokens);
  return out;
}

}  // namespace inferflux::server
