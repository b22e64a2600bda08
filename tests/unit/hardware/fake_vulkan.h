// What the fake of Vulkan's loader answers. Tests change it through FakeVulkanAnswers().
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "hardware/vulkan_abi.h"

namespace inferflux::hardware::testing {

struct FakeHeap {
  uint64_t size = 0;
  uint32_t flags = vulkan::kHeapDeviceLocal;
  uint64_t budget = 0;
  uint64_t usage = 0;
};

struct FakeVulkanDevice {
  std::string name;
  uint32_t version = vulkan::MakeVersion(1, 3);
  int32_t type = 2;  // discrete
  std::array<uint8_t, 16> uuid = {};
  std::array<uint32_t, 4> pci = {};  // domain, bus, device, function
  std::string driver;
  std::string driver_info = "22.3.6";
  std::vector<std::string> extensions;
  std::vector<FakeHeap> heaps;
};

struct FakeVulkan {
  uint32_t version = vulkan::MakeVersion(1, 3);
  int32_t version_error = 0;
  int32_t create_error = 0;
  bool creates_nothing = false;
  int32_t count_error = 0;  // of the devices
  int32_t list_error = 0;
  uint32_t extra_count = 0;       // devices that it counts beyond those that it lists
  std::set<std::string> missing;  // functions that it lacks
  std::vector<FakeVulkanDevice> devices;
  int instances = 0;        // that are not destroyed
  std::string application;  // that asked for the last one
  uint32_t application_version = 0;
  std::vector<int32_t> forbidden;  // types of links that a device was asked for and does not know
};

}  // namespace inferflux::hardware::testing

extern "C" inferflux::hardware::testing::FakeVulkan* FakeVulkanAnswers();
