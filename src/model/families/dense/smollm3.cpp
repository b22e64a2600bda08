// SmolLM3 (Hugging Face, 2025): Llama's layer; every fourth layer does not rotate (NoPE, arXiv:2501.18795).
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

// GGUF does not store which layers do not rotate, so only the known pattern is accepted.
Status CheckUnrotatedLayers(const formats::HfConfig& config) {
  const auto rotated = config.raw.Find<std::vector<int64_t>>("no_rope_layers");
  if (!rotated) return Forward(rotated);
  for (size_t i = 0; *rotated && i < (*rotated)->size(); ++i) {
    if (((**rotated)[i] != 0) != ((i + 1) % 4 != 0)) {
      return Fail(ErrorCode::kUnsupported, "{}: no_rope_layers[{}] is {}; only every fourth layer can be without RoPE",
                  config.raw.source(), i, (**rotated)[i]);
    }
  }
  return {};
}

Result<ModelConfig> ReadSmolLm3(const ModelSource& source, int32_t context) {
  auto config = ReadDecoderConfig(source, context, {.rope_style = compute::RopeStyle::kInterleaved});
  if (!config) return config;
  for (int32_t i = 3; i < config->layers; i += 4) config->layer_kinds[i].rope = kNoRope;
  return config;
}

}  // namespace

const Family& SmolLm3() {
  static const Family family{.architecture = "smollm3",
                             .read = ReadSmolLm3,
                             .checkpoints = {{.model_types = {"smollm3"},
                                              .tensors = {kInterleavedTensors, kDecoderTensors},
                                              .check = CheckUnrotatedLayers}}};
  return family;
}

}  // namespace inferflux::model
