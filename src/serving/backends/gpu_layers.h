// How many layers of a model fit on a GPU, for engines that divide the layers between a GPU and the host.
#pragma once

#include <cstdint>

#include "config/backend_config.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::serving {

// Weights in memory, with room for copies in other layouts, activations and the program itself.
int64_t MemoryFor(int64_t weight_bytes);

// All layers (-1) if the model fits into four fifths of `free_bytes`, otherwise as many as fit; the rest is for KV and
// work buffers. -1 if the number of layers or the free memory is unknown (0).
int32_t GpuLayersThatFit(int64_t weight_bytes, int32_t layers, int64_t free_bytes);

// The number of layers that the file states; 0 if it states none.
int32_t LayersOf(const model::ModelSource& source);

// Whether the engine divides layers between a GPU and the host.
bool SplitsLayers(const EngineEntry& engine);

// The device on which the engine would run with these settings.
compute::Device DeviceOf(const EngineEntry& engine, const BackendConfig& config);

// Sets `gpu_layers` from the device's free memory, if the engine splits layers and no number is set.
void ChooseGpuLayers(const EngineEntry& engine, const model::ModelSource& source, BackendConfig& config);

}  // namespace inferflux::serving
