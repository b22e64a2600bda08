#include "serving/backends/llama_config.h"

#include <algorithm>

namespace inferflux::serving {
namespace {

constexpr int32_t kAllLayers = -1;
constexpr int32_t kBatch = 2048;
constexpr int32_t kMicroBatch = 512;

}  // namespace

LlamaTuning TuneLlamaBackendConfig(const config::BackendConfig& config, const TargetTraits& traits) {
  const int32_t batch = config.batch.value_or(0), micro_batch = config.micro_batch.value_or(0);
  const std::string flash = config.flash_attention.value_or("auto");
  LlamaTuning out;
  out.gpu_layers = traits.gpu_accelerated ? config.gpu_layers.value_or(kAllLayers) : 0;
  out.batch = batch > 0 ? batch : std::max(kBatch, micro_batch);
  out.micro_batch = micro_batch > 0 ? micro_batch : std::min(kMicroBatch, out.batch);
  out.flash_attention = flash == "auto" ? traits.flash_attention : flash == "on";
  return out;
}

}  // namespace inferflux::serving
