// Llama 2 and 3 (arXiv:2307.09288, 2407.21783), Mistral 7B (arXiv:2310.06825), Mixtral (arXiv:2401.04088), SmolLM and
// all that share the shape, which GGUF writes as one architecture. Its converter permutes q and k so that rotary pairs
// are neighbours.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadLlama(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.rope_style = compute::RopeStyle::kInterleaved, .moe = {.routing = {.normalise = true}}});
}

}  // namespace

const Family& Llama() {
  static const Family family{
      .architecture = "llama",
      .read = ReadLlama,
      .checkpoints = {{.model_types = {"llama", "mistral", "mixtral"},
                       .own_tensors = {{"layers.*.block_sparse_moe.gate", "blk.*.ffn_gate_inp"},
                                       {"layers.*.block_sparse_moe.experts.*.w1", "blk.*.ffn_gate_exps"},
                                       {"layers.*.block_sparse_moe.experts.*.w3", "blk.*.ffn_up_exps"},
                                       {"layers.*.block_sparse_moe.experts.*.w2", "blk.*.ffn_down_exps"},
                                       {"layers.*.block_sparse_moe.switch_mlp.gate_proj", "blk.*.ffn_gate_exps"},
                                       {"layers.*.block_sparse_moe.switch_mlp.up_proj", "blk.*.ffn_up_exps"},
                                       {"layers.*.block_sparse_moe.switch_mlp.down_proj", "blk.*.ffn_down_exps"}},
                       .tensors = {kInterleavedTensors, kExpertTensors, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
