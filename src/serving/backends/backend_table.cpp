#include "serving/backends/backend_table.h"

#include <algorithm>

#include "serving/backends/llama_targets.h"

namespace inferflux::serving {
namespace {

constexpr EngineFacts kOnHost = {
    .huggingface = true, .encoders = true, .embeddings = true, .sessions = true, .batch_invariant = true};
constexpr EngineFacts kOnMlx = {.huggingface = true, .encoders = true, .embeddings = true, .sessions = true};
constexpr EngineFacts kOnCuda = {.huggingface = true, .encoders = true, .embeddings = true, .sessions = true};
constexpr EngineFacts kOnLlama = {.encoders = true, .embeddings = true, .sessions = true};
constexpr EngineFacts kOnLlamaVulkan = {.embeddings = true, .sessions = true};  // encoders: see llama_load.cpp

constexpr std::string_view kNeedsMlx = "scripts/install-mlx (on a Mac: brew install mlx), then -DENABLE_MLX=ON";

// The requirements of libllama's device in addition to the library.
std::string_view LlamaSwitch(Target target) {
  switch (target) {
    case Target::kCpu:
      return "scripts/install-llama-cpp, then -DENABLE_LLAMA_CPP=ON";
    case Target::kCuda:
      return "a libllama built with GGML_CUDA, then -DENABLE_LLAMA_CPP=ON";
    case Target::kVulkan:
      return "scripts/install-llama-cpp --vulkan, then -DENABLE_VULKAN=ON";
    case Target::kRocm:
      return "a libllama built with GGML_HIP, then -DENABLE_LLAMA_CPP=ON";
    case Target::kMps:
      return "a libllama built with GGML_METAL, then -DENABLE_LLAMA_CPP=ON";
    default:
      return "a libllama built with GGML_OPENCL, then -DENABLE_LLAMA_CPP=ON";
  }
}

std::string_view RunWordOfLlama(Target target) {
  if (target == Target::kCpu) return "llama";
  return target == Target::kVulkan ? "vulkan" : "";
}

std::string_view TestedLlama(Target target) {
  if (target == Target::kCpu) return "x86-64";
  return target == Target::kVulkan ? "Mesa's lavapipe (./test --vulkan)" : "no such device yet";
}

std::vector<std::string_view> LlamaSettings(Target target) {
  std::vector<std::string_view> out = {"batch", "micro_batch", "flash_attention"};
  if (Traits(target).gpu_accelerated) out.push_back("gpu_layers");
  return out;
}

std::vector<BackendRow> MakeTable() {
  std::vector<BackendRow> out = {
      {.target = Target::kCpu,
       .kv_dtypes = {"fp32", "fp16", "bf16", "int8", "fp8"},
       .facts = kOnHost,
       .settings = {"repack", "rope_context", "tensor_parallel", "pipeline_parallel"},
       .tested = "x86-64 with AMX, AVX-512 VNNI, AVX2 and neither; AVX-VNNI in an emulator; NEON under qemu",
       .switched_on_by = "always built"},
      {.target = Target::kReference,
       .kv_dtypes = {"fp32", "fp16", "bf16", "int8", "fp8"},
       .facts = kOnHost,
       .settings = {"rope_context"},
       .automatic = false,  // the oracle runs only if the user names it
       .tested = "x86-64",
       .switched_on_by = "always built; the scalar oracle, slow on purpose"},
      {.target = Target::kMlx,
       .kv_dtypes = {"fp32", "fp16", "bf16"},
       .facts = kOnMlx,
       .settings = {"mlx_requantise", "rope_context"},
       .tested = "MLX's CPU device on x86-64",
       .run_word = "mlx",
       .switched_on_by = kNeedsMlx},
      {.target = Target::kMps,
       .kv_dtypes = {"fp32", "fp16", "bf16"},
       .facts = kOnMlx,
       .settings = {"mlx_requantise", "rope_context"},
       .compute = "mlx",
       .automatic = false,  // auto selects mlx
       .gpu_only = true,
       .tested = "no Mac yet",
       .switched_on_by = kNeedsMlx},
      {.target = Target::kCuda,
       .kv_dtypes = {"fp32", "fp16", "bf16", "int8", "fp8"},
       .facts = kOnCuda,
       .settings = {"cuda_graphs", "cuda_streams", "rope_context", "tensor_parallel", "pipeline_parallel",
                    "collectives"},
       .tested = "one H100 and one H200; the host executor on x86-64",
       .switched_on_by = "scripts/install-cuda, then -DENABLE_CUDA=ON (on the CPU, for tests: -DENABLE_CUDA=HOST)"},
      {.target = Target::kVulkan, .written = false, .switched_on_by = "not written yet"},
  };
  for (const Target target : kLlamaTargets) {
    out.push_back({.target = target,
                   .provider = Provider::kLlamaCpp,
                   .kv_dtypes = {"fp32", "fp16", "bf16"},
                   .facts = target == Target::kVulkan ? kOnLlamaVulkan : kOnLlama,
                   .settings = LlamaSettings(target),
                   .tested = TestedLlama(target),
                   .run_word = RunWordOfLlama(target),
                   .switched_on_by = LlamaSwitch(target)});
  }
  return out;
}

}  // namespace

std::span<const BackendRow> BackendTable() {
  static const std::vector<BackendRow> table = MakeTable();
  return table;
}

const BackendRow* FindBackendRow(Target target, Provider provider) {
  const auto table = BackendTable();
  const auto found = std::ranges::find_if(
      table, [&](const BackendRow& row) { return row.target == target && row.provider == provider; });
  return found == table.end() ? nullptr : &*found;
}

std::vector<std::string_view> FormatWords(const BackendRow& row) {
  std::vector<std::string_view> out;
  if (row.written) out.push_back("GGUF");
  if (row.facts.huggingface) out.push_back("Hugging Face");
  return out;
}

std::vector<std::string_view> CapabilityWords(const BackendRow& row) {
  std::vector<std::string_view> out;
  if (row.facts.encoders) out.push_back("encoders");
  if (row.facts.embeddings) out.push_back("embeddings");
  if (row.facts.sessions) out.push_back("sessions");
  if (row.facts.batch_invariant) out.push_back("batch-invariant");
  return out;
}

}  // namespace inferflux::serving
