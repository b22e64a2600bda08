// What the fake of NVIDIA's management library answers. Tests change it through FakeNvmlAnswers().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace inferflux::hardware::testing {

struct FakeGpu {
  std::string name;
  std::string uuid;
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  uint64_t total = 0;
  uint64_t free = 0;
  int handle_error = 0;  // codes of NVML; 0: none
  int memory_error = 0;
  int pci_error = 0;
};

struct FakeNvml {
  int init_error = 0;
  int count_error = 0;
  int driver_error = 0;
  unsigned extra_count = 0;  // devices that it counts beyond those that it has
  std::vector<FakeGpu> gpus;
  int open = 0;  // calls of init without one of shutdown
};

}  // namespace inferflux::hardware::testing

extern "C" inferflux::hardware::testing::FakeNvml* FakeNvmlAnswers();
