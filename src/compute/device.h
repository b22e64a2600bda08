// The devices that a compute backend can run on, and what a context on one of them is made with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/thread_pool.h"

namespace inferflux::compute {

struct Device {
  std::string name;        // for people: "NVIDIA L4", "avx512-vnni on 2 cores"
  int64_t free_bytes = 0;  // of the memory that holds weights and KV; 0: not known
  std::string id = {};     // a word that names it on any machine: a GPU's UUID, "cpu"
  bool gpu = false;
};

// Bytes of a device's memory.
struct MemoryInfo {
  int64_t total = 0;
  int64_t free = 0;          // what can still be allocated
  int64_t weight_bytes = 0;  // what the weights that were loaded through the context take
  bool unified = false;      // the device shares its memory with the host
};

// What a context is made with. A backend reads what concerns it.
struct ContextOptions {
  std::string device = {};     // an index into Devices(), a device's id or its name; empty: the backend's choice
  ThreadPool* pool = nullptr;  // lent to backends that compute on the CPU; must outlive the context
  bool repack = true;          // cpu: weights laid out for speed at load
  bool requantise = false;     // mlx: 8 bits instead of BF16 for weight types that MLX lacks
};

// The index of the device that `word` names; 0 where it is empty. kInvalidArgument lists the devices where it names
// none of them, kUnsupported where there are none.
Result<int32_t> FindDevice(std::span<const Device> devices, std::string_view word, std::string_view backend);

}  // namespace inferflux::compute
