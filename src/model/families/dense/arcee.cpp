// AFM (Arcee AI, 2025): Llama's attention; a feed-forward network without a gate, activated by ReLU squared.
#include "model/families/common.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadArcee(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context,
                           {.rope_style = compute::RopeStyle::kInterleaved,
                            .gated = false,
                            .activation = compute::Activation::kReluSquared});
}

}  // namespace

const Family& Arcee() {
  static const Family family{
      .architecture = "arcee",
      .read = ReadArcee,
      .checkpoints = {
          {.model_types = {"arcee"}, .activation = "relu2", .tensors = {kInterleavedTensors, kDecoderTensors}}}};
  return family;
}

}  // namespace inferflux::model
