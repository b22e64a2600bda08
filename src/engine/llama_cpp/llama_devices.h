// The devices that the library can compute on, from its own list.
#pragma once

#include <ggml-backend.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace inferflux::engine {

// The devices of a target, or the one with that index, with the null terminator that the library expects. Empty for
// "cpu".
std::vector<ggml_backend_dev_t> LlamaDevices(std::string_view target, int32_t index = -1);

// The device with this index in LlamaDeviceList(target); null if there is none.
ggml_backend_dev_t LlamaDeviceAt(std::string_view target, int32_t index);

}  // namespace inferflux::engine
