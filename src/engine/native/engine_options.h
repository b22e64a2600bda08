// What a native engine is made with.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

namespace inferflux::engine {

struct EngineOptions {
  int32_t context = 0;            // tokens a sequence may have; 0: as many as the model was trained for
  int32_t max_sequences = 128;    // live at once
  int32_t block_size = 32;        // tokens a KV block holds
  int64_t kv_bytes = 0;           // memory for KV; 0: a quarter of what is free, or less where less can be used
  std::string kv_dtype = "fp16";  // fp32, fp16, bf16, int8 or fp8
  bool mlx_requantise = false;    // weights that MLX has no form for: 8 bits instead of BF16
  bool repack = true;             // on cpu: weights laid out for speed at load; else packed anew for each product
  std::stop_token stop = {};      // calls the load off: kCancelled
};

}  // namespace inferflux::engine
