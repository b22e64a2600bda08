// What a loaded model holds on one device.
#pragma once

#include <cstdint>
#include <string>

namespace inferflux::engine {

struct DeviceMemory {
  std::string device;
  int64_t weight_bytes = 0;
  int64_t kv_bytes = 0;  // the whole KV budget; 0: the engine does not report it
};

}  // namespace inferflux::engine
