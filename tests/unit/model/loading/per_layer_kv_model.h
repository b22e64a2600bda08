// Two copies of a test model with equal results. In one, all layers have two KV heads, and the second layer's two are
// equal. In the other, the second layer has one KV head, according to GGUF's list of heads by layer.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "model/loading/edited_gguf.h"

namespace inferflux::model::testing {

inline std::string PerLayerKvModel(bool layers_differ) {
  const auto is_kv = [](const formats::GgufTensor& tensor) {
    return tensor.name == "blk.1.attn_k.weight" || tensor.name == "blk.1.attn_v.weight";
  };
  ModelEdits edits;
  edits.data = [=](const formats::GgufTensor& tensor) {
    std::vector<std::byte> bytes(tensor.data.begin(), tensor.data.end());
    if (!is_kv(tensor)) return bytes;
    const auto head = static_cast<std::ptrdiff_t>(bytes.size() / 2);  // one of two
    if (layers_differ) {
      bytes.resize(static_cast<size_t>(head));
    } else {
      std::copy_n(bytes.begin(), head, bytes.begin() + head);
    }
    return bytes;
  };
  if (layers_differ) {
    edits.metadata = [](formats::GgufWriter& writer) {
      const std::vector<int32_t> heads{2, 1};
      writer.SetArray("llama.attention.head_count_kv", std::span<const int32_t>(heads));
    };
    edits.shape = [=](const formats::GgufTensor& tensor) {
      std::vector<uint64_t> shape(tensor.shape().begin(), tensor.shape().end());
      if (is_kv(tensor)) shape[1] /= 2;
      return shape;
    };
  }
  return EditedModel("llama", edits, layers_differ ? "llama-layers-differ" : "llama-layers-alike");
}

}  // namespace inferflux::model::testing
