#include "routing/llama_config.h"

#include <algorithm>

namespace inferflux::routing {
namespace {

constexpr int32_t kAllLayers = -1;
constexpr int32_t kBatch = 2048;
constexpr int32_t kMicroBatch = 512;

}  // namespace

LlamaBackendConfig MergeBackendConfig(const LlamaBackendConfig& own, const LlamaBackendConfig& shared) {
  LlamaBackendConfig out = own;
  if (!out.gpu_layers) out.gpu_layers = shared.gpu_layers;
  if (!out.batch) out.batch = shared.batch;
  if (!out.micro_batch) out.micro_batch = shared.micro_batch;
  if (!out.threads) out.threads = shared.threads;
  if (!out.flash_attention) out.flash_attention = shared.flash_attention;
  return out;
}

LlamaBackendConfig TuneLlamaBackendConfig(LlamaBackendConfig config, const TargetTraits& traits, int32_t cores) {
  if (!traits.gpu_accelerated) {
    config.gpu_layers = 0;
  } else if (!config.gpu_layers) {
    config.gpu_layers = kAllLayers;
  }
  if (!config.batch) config.batch = std::max(kBatch, config.micro_batch.value_or(0));
  if (!config.micro_batch) config.micro_batch = std::min(kMicroBatch, *config.batch);
  if (!config.threads) config.threads = cores;
  if (!config.flash_attention) config.flash_attention = traits.flash_attention;
  return config;
}

}  // namespace inferflux::routing
