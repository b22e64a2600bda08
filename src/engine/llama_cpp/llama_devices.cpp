#include "engine/llama_cpp/llama_devices.h"

#include <algorithm>
#include <array>

#include "engine/llama_cpp/create_llama_engine.h"
#include "engine/llama_cpp/llama_library.h"
#include "engine/llama_cpp/llama_versions.h"

namespace inferflux::engine {
namespace {

// Our targets, and the names under which the library registers its backends.
struct Registered {
  std::string_view registry;
  std::string_view target;
};
constexpr std::array kRegistered = {
    Registered{"CPU", "cpu"},   Registered{"CUDA", "cuda"}, Registered{"Vulkan", "vulkan"}, Registered{"ROCm", "rocm"},
    Registered{"Metal", "mps"}, Registered{"MTL", "mps"},   Registered{"OpenCL", "opencl"},
};

std::string_view TargetOf(ggml_backend_dev_t device) {
  const std::string_view registry = ggml_backend_reg_name(ggml_backend_dev_backend_reg(device));
  const auto found = std::ranges::find(kRegistered, registry, &Registered::registry);
  return found == kRegistered.end() ? "" : found->target;
}

}  // namespace

std::vector<std::string> LlamaTargets() {
  StartLlama();
  std::vector<std::string> out;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    const std::string target(TargetOf(ggml_backend_dev_get(i)));
    if (!target.empty() && std::ranges::find(out, target) == out.end()) out.push_back(target);
  }
  return out;
}

std::vector<compute::Device> LlamaDeviceList(std::string_view target) {
  StartLlama();
  std::vector<compute::Device> out;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    if (TargetOf(device) != target) continue;
    size_t free = 0, total = 0;
    ggml_backend_dev_memory(device, &free, &total);
    out.push_back({.name = ggml_backend_dev_description(device),
                   .free_bytes = static_cast<int64_t>(free),
                   .id = ggml_backend_dev_name(device),
                   .gpu = ggml_backend_dev_type(device) != GGML_BACKEND_DEVICE_TYPE_CPU,
                   .pci_address = PciAddressOf(device)});
  }
  return out;
}

ggml_backend_dev_t LlamaDeviceAt(std::string_view target, int32_t index) {
  StartLlama();
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    if (TargetOf(device) == target && index-- == 0) return device;
  }
  return nullptr;
}

std::vector<ggml_backend_dev_t> LlamaDevices(std::string_view target, int32_t index) {
  StartLlama();
  std::vector<ggml_backend_dev_t> out;
  int32_t place = 0;  // index within the target's devices, as LlamaDeviceList counts them
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    if (ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU || TargetOf(device) != target) continue;
    if (index < 0 || place == index) out.push_back(device);
    ++place;
  }
  out.push_back(nullptr);
  return out;
}

}  // namespace inferflux::engine
