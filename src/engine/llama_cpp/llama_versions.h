// Differences between versions of the library: those of llama-cpp-python 0.3.36, and of 0.3.16, which builds for Vulkan
// on Debian 12. The engine is tested with both (./test, ./test --vulkan). The code below detects what each has.
#pragma once

#include <ggml-backend.h>
#include <llama.h>

#include <array>
#include <string>

namespace inferflux::engine {

// Newer versions have three values: -1 enables it where possible, 0 disables it. Older ones have a switch, which
// applies where possible.
template <class Params>
void SetFlashAttention(Params& params, bool wanted) {
  if constexpr (requires { params.flash_attn_type; }) {
    params.flash_attn_type = static_cast<decltype(params.flash_attn_type)>(wanted ? -1 : 0);
  } else {
    params.flash_attn = wanted;
  }
}

// The device's PCI address; empty where it has none. Older versions do not tell it.
template <class Properties = ggml_backend_dev_props>
std::string PciAddressOf(ggml_backend_dev_t device) {
  if constexpr (requires(Properties properties) { properties.device_id; }) {
    Properties properties{};
    ggml_backend_dev_get_props(device, &properties);
    return properties.device_id != nullptr ? properties.device_id : "";
  } else {
    return {};
  }
}

// Whether some layers keep a recurrent state and others keys and values. Older versions do not report it: the metadata
// does.
template <class Model>
bool IsHybrid(const Model& model, const std::string& architecture) {
  if constexpr (requires { llama_model_is_hybrid(&model); }) {
    return llama_model_is_hybrid(&model);
  } else {
    std::array<char, 32> text{};
    for (const char* key : {".ssm.conv_kernel", ".shortconv.l_cache"}) {
      if (llama_model_meta_val_str(&model, (architecture + key).c_str(), text.data(), text.size()) > 0) {
        return !llama_model_is_recurrent(&model);
      }
    }
    return false;
  }
}

}  // namespace inferflux::engine
