// A compute backend as a row of NativeBackends(). It instantiates the whole forward pass, so each backend's row has its
// own source file, which CMake generates from native_backend.cpp.in.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/without_exceptions.h"
#include "compute/device_features.h"
#include "compute/optional_ops.h"
#include "engine/native/native_backends.h"
#include "engine/native/native_engine.h"
#include "engine/native/ranks/follow.h"
#include "engine/self_test.h"

namespace inferflux::engine {

template <compute::OpensDevices B>
Status SelfTest(const compute::ContextOptions& options) {
  constexpr SelfTestProduct kProduct;
  auto context = B::CreateContext(options);
  if (!context) return Forward(context);
  const compute::HostMatrix weights{.name = "self-test",
                                    .type = formats::TensorType::kF32,
                                    .rows = SelfTestProduct::kSize,
                                    .cols = SelfTestProduct::kSize,
                                    .data = std::as_bytes(std::span<const float>(kProduct.weights))};
  auto matrix = B::LoadMatrix(**context, std::span<const compute::HostMatrix>(&weights, 1));
  if (!matrix) return Forward(matrix);
  const auto input = B::LoadVector(**context, kProduct.input);
  return kProduct.Check(B::Read(**context, B::MatMul(**context, input, *matrix)), B::kName);
}

template <compute::OpensDevices B>
auto RatesOf() -> decltype(NativeBackend::rates) {
  if constexpr (compute::MeasuresRates<B>) {
    return [](const compute::ContextOptions& options, double seconds) {
      return WithoutExceptions(std::string("measuring the device of ") + B::kName,
                               [&]() -> Result<compute::DeviceRates> {
                                 auto context = B::CreateContext(options);
                                 if (!context) return Forward(context);
                                 return B::MeasureRates(**context, seconds);
                               });
    };
  } else {
    return nullptr;
  }
}

template <compute::OpensDevices B>
NativeBackend NativeBackendOf() {
  return {.name = B::kName,
          .layouts = compute::kMatmulLayoutsOf<B>,
          .note = []() -> std::string {
            if constexpr (requires { B::BuildNote(); }) return B::BuildNote();
            return {};
          },
          .unavailable = []() -> std::string {
            if constexpr (requires { B::WhyUnavailable(); }) return B::WhyUnavailable();
            return {};
          },
          .devices = [](const compute::ContextOptions& options) { return B::Devices(options); },
          .self_test =
              [](const compute::ContextOptions& options) {
                return WithoutExceptions(std::string("testing the device of ") + B::kName,
                                         [&] { return SelfTest<B>(options); });
              },
          .rates = RatesOf<B>(),
          .create =
              [](model::ModelConfig config, std::shared_ptr<const model::ModelSource> source,
                 const EngineOptions& options) {
                return WithoutExceptions(
                    std::string("loading on ") + B::kName, [&]() -> Result<std::unique_ptr<Engine>> {
                      auto context = B::CreateContext(options.device);
                      if (!context) return Forward(context);
                      return CreateNativeEngine<B>(std::move(*context), std::move(config), std::move(source), options);
                    });
              },
          .follow =
              [](model::ModelConfig config, std::shared_ptr<const model::ModelSource> source,
                 const EngineOptions& options) {
                return WithoutExceptions(std::string("following on ") + B::kName, [&]() -> Status {
                  auto context = B::CreateContext(options.device);
                  if (!context) return Forward(context);
                  return WithKvType<B, Status>(config, options, [&]<class Kv>(Kv) {
                    return Follow<B, Kv>(**context, std::move(config), std::move(source), options);
                  });
                });
              }};
}

}  // namespace inferflux::engine
