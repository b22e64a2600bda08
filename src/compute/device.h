// The devices that a compute backend can run on, and the options for a context on one of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"

namespace inferflux::compute {

struct Device {
  std::string name;        // for display: "NVIDIA L4", "avx512-vnni on 2 cores"
  int64_t free_bytes = 0;  // free bytes of the memory that holds weights and KV; 0: unknown
  std::string id = {};     // its backend's name for it: "cpu", "Vulkan0"
  bool gpu = false;
  std::string uuid = {};         // as NVIDIA's or Vulkan's tools print it; empty: unknown
  std::string pci_address = {};  // "0000:c1:00.0"; empty: unknown, or not on a PCI bus
};

// Bytes of a device's memory.
struct MemoryInfo {
  int64_t total = 0;
  int64_t free = 0;          // bytes that can still be allocated
  int64_t weight_bytes = 0;  // bytes of the weights that were loaded through the context
  bool unified = false;      // the device shares its memory with the host
};

// Options for a context. A backend reads those that apply to it.
struct ContextOptions {
  std::string device = {};     // a word that FindDevice takes; empty: the backend's choice
  ThreadPool* pool = nullptr;  // for backends that compute on the CPU; must outlive the context
  bool repack = true;          // cpu: lay weights out for speed at load
  bool requantise = false;     // mlx: 8 bits instead of BF16 for weight types that MLX lacks
};

// The indices of the devices that `word` names: by its index; by its UUID, PCI address or id in any tool's spelling; or
// else by its name, which several may share.
std::vector<int32_t> DevicesNamed(std::span<const Device> devices, std::string_view word);

// Returns the index of the device that `word` names; 0 if it is empty. kInvalidArgument, with the list of devices, if
// it names none or several; kUnsupported if there are no devices.
Result<int32_t> FindDevice(std::span<const Device> devices, std::string_view word, std::string_view backend);

}  // namespace inferflux::compute
