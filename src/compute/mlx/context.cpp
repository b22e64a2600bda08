#include <mlx/device.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

#include <algorithm>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {

Mlx::Context::Context() {
  const bool gpu = mx::default_device() == mx::Device::gpu;
  device = gpu ? "gpu" : "cpu";
  narrow_products = gpu;
}

Mlx::Buffer Mlx::LoadVector(Context&, std::span<const float> values) {
  return {mx::array(values.data(), {1, Int(static_cast<int64_t>(values.size()))}, mx::float32)};
}

std::vector<mx::array> Mlx::Context::KvArrays() {
  std::erase_if(caches, [](const auto& cache) { return cache.expired(); });
  std::vector<mx::array> arrays;
  for (const auto& cache : caches) {
    for (const KvLayer& layer : *cache.lock()) arrays.insert(arrays.end(), {layer.keys, layer.values});
  }
  return arrays;
}

// The KV arrays are evaluated with what is read: not all of a step's keys and values lead to its logits.
std::vector<float> Mlx::Read(Context& context, View x) {
  const mx::array rows = mx::contiguous(x.values);
  std::vector<mx::array> wanted = context.KvArrays();
  wanted.push_back(rows);
  mx::eval(std::move(wanted));
  if (rows.size() == 0) return {};
  const float* data = rows.data<float>();
  return {data, data + rows.size()};
}

}  // namespace inferflux::compute
