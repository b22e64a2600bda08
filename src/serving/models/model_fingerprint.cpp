#include "serving/models/model_fingerprint.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace inferflux::serving {
namespace {

constexpr size_t kPieces = 16;
constexpr size_t kPieceBytes = 4096;

class Hash {
 public:
  void Add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {  // FNV-1a
      value_ = (value_ ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
    }
  }
  void Add(uint64_t number) { Add(std::as_bytes(std::span(&number, 1))); }
  void Add(std::string_view text) { Add(std::as_bytes(std::span(text))); }

  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

void AddTensor(const compute::HostMatrix& tensor, Hash& hash) {
  hash.Add(tensor.name);
  hash.Add(static_cast<uint64_t>(tensor.type));
  hash.Add(static_cast<uint64_t>(tensor.rows));
  hash.Add(static_cast<uint64_t>(tensor.cols));
  const size_t size = tensor.data.size();
  for (size_t piece = 0; piece < kPieces; ++piece) {
    const size_t first = size / kPieces * piece;
    hash.Add(tensor.data.subspan(first, std::min(kPieceBytes, size - first)));
  }
}

}  // namespace

uint64_t ModelFingerprint(const model::ModelSource& source) {
  Hash hash;
  hash.Add(static_cast<uint64_t>(source.parameters()));
  for (const char* name : {"token_embd.weight", "output_norm.weight", "output.weight"}) {
    if (const auto* tensor = source.Find(name)) AddTensor(*tensor, hash);
  }
  int layers = 0;
  while (source.Find("blk." + std::to_string(layers) + ".attn_output.weight") != nullptr) ++layers;
  for (const int layer : {0, layers / 2, layers - 1}) {
    for (const char* name : {"attn_norm", "attn_q", "attn_k", "attn_qkv", "attn_output", "ffn_down"}) {
      const auto* tensor = source.Find("blk." + std::to_string(layer) + "." + name + ".weight");
      if (tensor != nullptr) AddTensor(*tensor, hash);
    }
  }
  return hash.value();
}

}  // namespace inferflux::serving
