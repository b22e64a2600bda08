// Hunyuan's dense models (Tencent, 2025): Llama's layer with norms on the heads of q and k after RoPE.
#include "model/families/common.h"
#include "model/families/dense/hunyuan.h"
#include "model/families/family.h"

namespace inferflux::model {
namespace {

Result<ModelConfig> ReadHunyuan(const ModelSource& source, int32_t context) {
  return ReadDecoderConfig(source, context, {.qk_norm = QkNorm::kHead, .qk_norm_after_rope = true});
}

}  // namespace

const Family& HunyuanDense() {
  static const Family family{.architecture = "hunyuan-dense",
                             .read = ReadHunyuan,
                             .checkpoints = {{.model_types = {"hunyuan_v1_dense"},
                                              .tensors = {kHunyuanNorms, kDecoderTensors},
                                              .prepare = PrepareHunyuan}}};
  return family;
}

}  // namespace inferflux::model
