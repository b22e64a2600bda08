// A host executor's device for a test: one stream, and vectors in and out.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "compute/cuda/host_runtime.h"
#include "compute/cuda/launch.h"

namespace inferflux::cuda::testing {

template <class T>
T Must(Result<T> result) {
  if (!result) ADD_FAILURE() << result.error().message;
  return result ? *std::move(result) : T{};
}
inline void Must(const Status& status) {
  if (!status) ADD_FAILURE() << status.error().message;
}

class TestDevice {
 public:
  explicit TestDevice(const HostDevice& device = {})
      : runtime_(Must(HostRuntime::Open(device))), stream_(Must(runtime_->CreateStream())) {}

  HostRuntime& runtime() { return *runtime_; }
  Stream stream() const { return stream_; }

  template <class T>
  T* New(size_t count) {  // uninitialised
    return static_cast<T*>(Must(runtime_->Allocate(count * sizeof(T))));
  }
  template <class T>
  T* Upload(const std::vector<T>& values) {
    T* at = New<T>(values.size());
    Must(runtime_->CopyToDevice(at, values.data(), values.size() * sizeof(T), stream_));
    Must(runtime_->Synchronize(stream_));
    return at;
  }
  template <class T>
  std::vector<T> Download(const T* at, size_t count) {
    std::vector<T> values(count);
    Must(runtime_->CopyToHost(values.data(), at, count * sizeof(T), stream_));
    Must(runtime_->Synchronize(stream_));
    return values;
  }

  // Runs a kernel; yields its fault, or nothing.
  template <class... P, class... Arguments>
  std::optional<executor::Fault> Run(void (*kernel)(P...), Dim3 grid, Dim3 block, size_t shared_bytes,
                                     Arguments... arguments) {
    auto launched = Launch(kernel, grid, block, shared_bytes, stream_, arguments...);
    if (launched) launched = runtime_->Synchronize(stream_);
    if (!launched && !runtime_->fault()) ADD_FAILURE() << launched.error().message;
    return runtime_->fault();
  }

 private:
  std::unique_ptr<HostRuntime> runtime_;
  Stream stream_;
};

// What threads do depends on the order that a seed gives them: a rule has to hold for each.
inline constexpr uint64_t kSeeds = 4;

// The kernel breaks this rule, whatever the order. `make` gets a device and yields Run's result.
template <class Make>
void ExpectFault(executor::Rule rule, const Make& make) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    TestDevice device({.seed = seed});
    const std::optional<executor::Fault> fault = make(device);
    ASSERT_TRUE(fault.has_value()) << "seed " << seed << ": nothing was found";
    EXPECT_TRUE(fault->rule == rule) << "seed " << seed << ": " << executor::ToError(*fault).message;
  }
}

template <class Make>
void ExpectRight(const Make& make) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    TestDevice device({.seed = seed});
    const std::optional<executor::Fault> fault = make(device);
    ASSERT_FALSE(fault.has_value()) << "seed " << seed << ": " << executor::ToError(*fault).message;
  }
}

}  // namespace inferflux::cuda::testing
