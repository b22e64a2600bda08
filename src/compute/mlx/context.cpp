#include <mlx/device.h>
#include <mlx/memory.h>
#include <mlx/ops.h>
#include <mlx/stream.h>
#include <mlx/transforms.h>

#include <algorithm>
#include <initializer_list>
#include <variant>

#include "base/host_memory.h"
#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {
namespace {

// A number that MLX reports for its device under one of these names; -1 if it reports none.
int64_t DeviceNumber(std::initializer_list<const char*> names) {
  const auto& facts = mx::device_info();
  for (const char* name : names) {
    const auto found = facts.find(name);
    if (found == facts.end()) continue;
    if (const auto* number = std::get_if<size_t>(&found->second)) return static_cast<int64_t>(*number);
  }
  return -1;
}

}  // namespace

std::vector<Device> Mlx::Devices(const ContextOptions&) {
  const Context context;
  return {{.name = "MLX on the " + context.device,
           .free_bytes = Memory(context).free,
           .id = context.device,
           .gpu = context.device == "gpu"}};
}

Result<std::unique_ptr<Mlx::Context>> Mlx::CreateContext(const ContextOptions& options) {
  if (auto device = FindDevice(Devices(options), options.device, kName); !device) return Forward(device);
  auto context = std::make_unique<Context>();
  context->requantise = options.requantise;
  return context;
}

// Metal uses a part of the host's memory; a CUDA card has its own, and reports how much is free.
MemoryInfo Mlx::Memory(const Context& context) {
  const HostMemory host = ReadHostMemory();
  MemoryInfo out{.total = host.total, .free = host.free, .weight_bytes = context.weight_bytes, .unified = true};
  if (context.device != "gpu") return out;
  const int64_t total = DeviceNumber({"total_memory", "memory_size"}), free = DeviceNumber({"free_memory"});
  if (total >= 0) out.total = total;
  if (free >= 0) {
    out.free = free;
    out.unified = false;
  } else {
    const int64_t limit = std::min(out.total, static_cast<int64_t>(mx::get_memory_limit()));
    out.free = std::clamp<int64_t>(limit - static_cast<int64_t>(mx::get_active_memory()), 0, out.free);
  }
  return out;
}

Mlx::TimeMark Mlx::MarkTime(Context& context) {
  mx::eval(context.KvArrays());
  mx::synchronize();
  return TimeMark::clock::now();
}

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

// KV arrays are evaluated together with what is read: not all of a step's keys and values lead to its logits.
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
