// A kernel and its arguments as data.
#pragma once

#include <span>
#include <tuple>

#include "compute/cuda/host_executor/executor.h"
#include "compute/cuda/runtime.h"

namespace inferflux::cuda::executor {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kInstrumented = true;
#else
inline constexpr bool kInstrumented = false;
#endif

template <class... P>
struct PackedCall {
  using Kernel = void (*)(P...);

  std::tuple<Kernel, P...> values;
  Dim3 grid, block;
  size_t shared_bytes;

  // Borrows from this.
  KernelCall call() const {
    return {.function = reinterpret_cast<const void*>(std::get<0>(values)),
            .invoke =
                [](const void* arguments) {
                  std::apply([](Kernel kernel, const P&... each) { kernel(each...); },
                             *static_cast<const std::tuple<Kernel, P...>*>(arguments));
                },
            .arguments = std::as_bytes(std::span(&values, 1)),
            .arguments_alignment = alignof(std::tuple<Kernel, P...>),
            .grid = grid,
            .block = block,
            .shared_bytes = shared_bytes,
            .instrumented = kInstrumented};
  }
};

template <class... P>
PackedCall<P...> PackCall(void (*kernel)(P...), Dim3 grid, Dim3 block, size_t shared_bytes,
                          std::type_identity_t<P>... arguments) {
  return {{kernel, arguments...}, grid, block, shared_bytes};
}

// Puts a launch on a stream of the host runtime; refuses at once what the architecture cannot run.
Status Enqueue(Stream stream, const KernelCall& call);

}  // namespace inferflux::cuda::executor
