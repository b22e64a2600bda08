#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <array>
#include <memory>

#include "engine/llama_cpp/create_llama_engine.h"
#include "engine/llama_cpp/llama_devices.h"
#include "engine/self_test.h"

namespace inferflux::engine {
namespace {

template <auto kFree>
struct FreeWith {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

}  // namespace

Status LlamaSelfTest(std::string_view target, int32_t device) {
  static constexpr SelfTestProduct kProduct;
  constexpr auto kSize = static_cast<int64_t>(SelfTestProduct::kSize);
  ggml_backend_dev_t chosen = LlamaDeviceAt(target, std::max(0, device));
  if (chosen == nullptr) return Fail(ErrorCode::kNotFound, "libllama has no device {} of {}", device, target);
  const std::unique_ptr<ggml_backend, FreeWith<ggml_backend_free>> backend(ggml_backend_dev_init(chosen, nullptr));
  if (!backend) return Fail(ErrorCode::kInternal, "libllama cannot start {}", ggml_backend_dev_name(chosen));
  const std::unique_ptr<ggml_context, FreeWith<ggml_free>> context(ggml_init(
      {.mem_size = 8 * ggml_tensor_overhead() + ggml_graph_overhead(), .mem_buffer = nullptr, .no_alloc = true}));
  ggml_tensor* weights = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, kSize, kSize);
  ggml_tensor* input = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, kSize, 1);
  ggml_tensor* product = ggml_mul_mat(context.get(), weights, input);
  ggml_cgraph* graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, product);
  const std::unique_ptr<ggml_backend_buffer, FreeWith<ggml_backend_buffer_free>> buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backend.get()));
  if (!buffer) return Fail(ErrorCode::kResourceExhausted, "{} has no memory", ggml_backend_dev_name(chosen));
  ggml_backend_tensor_set(weights, kProduct.weights.data(), 0, sizeof kProduct.weights);
  ggml_backend_tensor_set(input, kProduct.input.data(), 0, sizeof kProduct.input);
  std::array<float, SelfTestProduct::kSize> outputs{};
  if (ggml_backend_graph_compute(backend.get(), graph) != GGML_STATUS_SUCCESS) {
    return Fail(ErrorCode::kInternal, "{} fails to compute", ggml_backend_dev_name(chosen));
  }
  ggml_backend_tensor_get(product, outputs.data(), 0, sizeof outputs);
  return kProduct.Check(outputs, ggml_backend_dev_name(chosen));
}

}  // namespace inferflux::engine
