// A device that an engine would compute on.
#pragma once

#include <cstdint>
#include <string>

namespace inferflux::engine {

struct Device {
  std::string name;        // for people: "NVIDIA L4", "avx512-vnni on 2 cores"
  int64_t free_bytes = 0;  // of the memory that weights and KV would lie in; 0: not known
};

}  // namespace inferflux::engine
