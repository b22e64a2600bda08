// What can be said of CUDA's runtime on any machine: a device that is not there is an error that says why.
#include <gtest/gtest.h>

#include "compute/cuda/runtime.h"

namespace inferflux::cuda {
namespace {

TEST(CudaRuntime, ADeviceThatIsNotThereIsAnError) {
  for (const int index : {-1, 1000}) {
    const auto runtime = OpenDevice(index);
    ASSERT_FALSE(runtime);
    EXPECT_NE(runtime.error().message.find("CUDA"), std::string::npos) << runtime.error().message;
  }
}

}  // namespace
}  // namespace inferflux::cuda
