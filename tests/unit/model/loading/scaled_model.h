// A copy of a test model in which each weight is multiplied by a power of two and tensors NAME.scale undo this. A
// backend that applies them computes the same results, bit for bit.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "model/loading/edited_gguf.h"

namespace inferflux::model::testing {

// Scales NAME's float32 matrices of the layers' matmuls, except those of the keys: a matmul may have parts with and
// without a per-tensor scale. Each expert has its own scale.
inline std::string ScaledModel(const std::string& name) {
  const auto file = formats::GgufFile::Open(ModelPath(name + ".gguf"));
  if (!file) throw std::runtime_error(file.error().message);
  ModelEdits edits;
  std::map<std::string, std::vector<float>> factors;  // by the weights' names
  for (const auto& tensor : (*file)->tensors()) {
    const std::string weights(tensor.name);
    if (tensor.shape().size() < 2 || !weights.starts_with("blk.") || weights.find("attn_k.") != std::string::npos)
      continue;
    const std::string stem = weights.substr(0, weights.rfind('.'));
    const size_t experts = tensor.shape().size() == 3 ? tensor.dims[2] : 1;
    std::vector<float>& own = factors[weights];
    for (size_t e = 0; e < experts; ++e) own.push_back((factors.size() + e) % 2 == 0 ? 0x1p-9f : 0x1p5f);
    edits.added[stem + ".scale"] = own;
    edits.added[stem + ".input_scale"] = std::vector<float>(experts, 3.0f);  // of activations: not used
  }
  edits.data = [factors](const formats::GgufTensor& tensor) {
    std::vector<std::byte> bytes(tensor.data.begin(), tensor.data.end());
    const auto own = factors.find(std::string(tensor.name));
    if (own == factors.end()) return bytes;
    std::vector<float> values(tensor.elements());
    std::memcpy(values.data(), bytes.data(), bytes.size());
    const size_t of_expert = values.size() / own->second.size();
    for (size_t i = 0; i < values.size(); ++i) values[i] /= own->second[i / of_expert];
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  };
  return EditedModel(name, edits);
}

}  // namespace inferflux::model::testing
