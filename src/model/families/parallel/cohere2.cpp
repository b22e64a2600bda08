// Command R7B and Command A (arXiv:2504.00698): Command R with a window on three of four layers; only these rotate.
#include "model/families/common.h"
#include "model/families/config_settings.h"
#include "model/families/family.h"
#include "model/families/parallel/cohere.h"

namespace inferflux::model {
namespace {

Status PrepareCohere2(formats::HfConfig& config) {
  SetDefault(config.layer_norm_eps, 1e-5);
  SetDefault(config.sliding_window, 4096u);
  return {};
}

Result<ModelConfig> ReadCohere2(const ModelSource& source, int32_t context) {
  auto config = ReadCohere(source, context, 4);
  if (!config) return config;
  if (auto read = RotateWindowedLayersOnly(source, 4, &*config); !read) return Forward(read);
  return config;
}

}  // namespace

const Family& Cohere2() {
  static const Family family{
      .architecture = "cohere2",
      .read = ReadCohere2,
      .checkpoints = {
          {.model_types = {"cohere2"}, .numbers = {{"logit_scale", "logit_scale"}}, .prepare = PrepareCohere2}}};
  return family;
}

}  // namespace inferflux::model
