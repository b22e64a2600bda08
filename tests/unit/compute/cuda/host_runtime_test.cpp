// The host runtime: streams, events, captures and products, as strict as CUDA.
#include "compute/cuda/host_runtime.h"

#include <gtest/gtest.h>

namespace inferflux::cuda {
namespace {

TEST(HostRuntime, DevicePointersAreNotHostPointers) {
  auto runtime = HostRuntime::Open({});
  ASSERT_TRUE(runtime);
  auto at = (*runtime)->Allocate(64);
  ASSERT_TRUE(at);
  EXPECT_DEATH(*static_cast<volatile int*>(*at) = 1, "");
}

}  // namespace
}  // namespace inferflux::cuda
