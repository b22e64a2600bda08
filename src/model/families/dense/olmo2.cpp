// OLMo 2 (arXiv:2501.00656): norms after each sub-layer instead of before it, and over the whole width of q and of k.
// OLMo 3 uses the same architecture name: three windowed layers, which rotate without YaRN, alternate with one layer of
// full attention.
#include "model/families/common.h"
#include "model/families/family.h"
#include "model/families/metadata_numbers.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadOlmo2(const ModelSource& source, int32_t context) {
  auto config =
      ReadDecoderConfig(source, context, {.input_norms = false, .output_norms = true, .qk_norm = QkNorm::kWhole}, 4);
  if (!config) return config;
  const auto base = ReadNumber(source, config->architecture + ".rope.freq_base", 10000.0f, 1.001f, 1e9f);
  if (!base) return Forward(base);
  if (auto rope = ReadWindowRope(source, *base, &*config); !rope) return Forward(rope);
  return config;
}

}  // namespace

const Family& Olmo2() {
  static const Family family{
      .architecture = "olmo2",
      .read = ReadOlmo2,
      .checkpoints = {{.model_types = {"olmo2", "olmo3"},
                       .own_tensors = {{"layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
                                       {"layers.*.post_feedforward_layernorm", "blk.*.post_ffw_norm"}},
                       .tensors = {kQkNormTensors, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
