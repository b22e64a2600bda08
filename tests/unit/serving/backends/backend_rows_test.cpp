// The table of engines, row by row: messages and documents show it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>

#include "serving/backends/backend_table.h"

namespace inferflux::serving {
namespace {

// What one engine can do, and how it is chosen.
std::string RowText(const BackendRow& row) {
  return fmt::format("{} {}: {} | {} | {} | {} | compute '{}'{}{}{} | run '{}'", Traits(row.target).name,
                     ProviderName(row.provider), fmt::join(FormatWords(row), ","), fmt::join(row.kv_dtypes, ","),
                     fmt::join(CapabilityWords(row), ","), fmt::join(row.settings, ","), row.compute,
                     row.written ? "" : " unwritten", row.automatic ? "" : " named", row.gpu_only ? " gpu" : "",
                     row.run_word);
}

TEST(BackendRows, OfOurOwnEngines) {
  std::string text;
  for (const BackendRow& row : BackendTable()) {
    if (row.provider == Provider::kNative) text += RowText(row) + "\n";
  }
  EXPECT_EQ(text,
            "cpu native: GGUF,Hugging Face | fp32,fp16,bf16,int8,fp8 | encoders,embeddings,sessions,batch-invariant | "
            "repack,rope_context,tensor_parallel,pipeline_parallel | compute '' | run ''\n"
            "reference native: GGUF,Hugging Face | fp32,fp16,bf16,int8,fp8 | "
            "encoders,embeddings,sessions,batch-invariant | rope_context | compute '' named | run ''\n"
            "mlx native: GGUF,Hugging Face | fp32,fp16,bf16 | encoders,embeddings,sessions | "
            "mlx_requantise,rope_context | compute '' | run 'mlx'\n"
            "mps native: GGUF,Hugging Face | fp32,fp16,bf16 | encoders,embeddings,sessions | "
            "mlx_requantise,rope_context | compute 'mlx' named gpu | run ''\n"
            "cuda native: GGUF,Hugging Face | fp32,fp16,bf16,int8,fp8 | encoders,embeddings,sessions | "
            "cuda_graphs,cuda_streams,rope_context,tensor_parallel,pipeline_parallel,collectives | compute '' | run "
            "''\n"
            "vulkan native:  |  |  |  | compute '' unwritten | run ''\n");
}

TEST(BackendRows, OfLlamaCppDifferByTheirTarget) {
  std::string text;
  for (const BackendRow& row : BackendTable()) {
    if (row.provider == Provider::kNative) continue;
    text += fmt::format("{} | {} | {}\n", RowText(row), row.tested, row.switched_on_by);
  }
  const std::string facts = " | fp32,fp16,bf16 | encoders,embeddings,sessions | batch,micro_batch,flash_attention";
  const std::string untested = ",gpu_layers | compute '' | run '' | no such device yet | a libllama built with ";
  const std::string enable = ", then -DENABLE_LLAMA_CPP=ON\n";
  EXPECT_EQ(text,
            "cpu llama_cpp: GGUF" + facts +
                " | compute '' | run 'llama' | x86-64 | scripts/install-llama-cpp, then -DENABLE_LLAMA_CPP=ON\n"
                "cuda llama_cpp: GGUF" +
                facts + untested + "GGML_CUDA" + enable +
                "vulkan llama_cpp: GGUF | fp32,fp16,bf16 | embeddings,sessions | "
                "batch,micro_batch,flash_attention,gpu_layers | compute '' | run 'vulkan' | Mesa's lavapipe (./test "
                "--vulkan) | scripts/install-llama-cpp --vulkan, then -DENABLE_VULKAN=ON\n"
                "rocm llama_cpp: GGUF" +
                facts + untested + "GGML_HIP" + enable + "mps llama_cpp: GGUF" + facts + untested + "GGML_METAL" +
                enable + "opencl llama_cpp: GGUF" + facts + untested + "GGML_OPENCL" + enable);
}

TEST(BackendRows, AreFoundByTargetAndProvider) {
  for (const BackendRow& row : BackendTable()) EXPECT_EQ(FindBackendRow(row.target, row.provider), &row);
  EXPECT_EQ(FindBackendRow(Target::kMlx, Provider::kLlamaCpp), nullptr);
  EXPECT_EQ(FindBackendRow(Target::kRocm, Provider::kNative), nullptr);
  EXPECT_EQ(FindBackendRow(Target::kAuto, Provider::kNative), nullptr);
}

}  // namespace
}  // namespace inferflux::serving
