// The devices that the library can compute on, from its own list.
#pragma once

#include <ggml-backend.h>

#include <string_view>
#include <vector>

namespace inferflux::engine {

// The devices of a target, ended by a null as the library wants them; for "cpu" there is nothing to list.
std::vector<ggml_backend_dev_t> LlamaDevices(std::string_view target);

}  // namespace inferflux::engine
