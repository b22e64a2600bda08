// Runs the tests on this machine's GPU; where there is none they are skipped, with the reason.
#include <gtest/gtest.h>

#include <cstdio>

#include "compute/cuda/runtime.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;  // for ctest
  ::testing::InitGoogleTest(&argc, argv);
  if (const auto devices = inferflux::cuda::ListDevices(); !devices) {
    std::printf("skipped: %s\n", devices.error().message.c_str());
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
