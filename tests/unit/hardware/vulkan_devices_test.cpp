// Vulkan's devices, as a fake of its loader lists them.
#include "hardware/vulkan_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/fake_driver.h"
#include "hardware/fake_vulkan.h"

namespace inferflux::hardware {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kGiB = int64_t{1} << 30;

class VulkanDevicesTest : public ::testing::Test {
 protected:
  VulkanDevicesTest() {
    driver_->devices = {
        {.name = "AMD Radeon RX 7900",
         .uuid = {0x8a, 0x2f, 0x1c, 0x3e, 0, 0, 0x44, 0x44, 0x99, 0x99, 1, 0x23, 0x45, 0x67, 0x89, 0xab},
         .pci = {0, 3, 0, 1},
         .driver = "radv",
         .extensions = {"VK_EXT_memory_budget", "VK_EXT_pci_bus_info"},
         .heaps = {{.size = 20 * kGiB, .budget = 19 * kGiB, .usage = 4 * kGiB},
                   {.size = 64 * kGiB, .flags = 0, .budget = 64 * kGiB}}},
        {.name = "llvmpipe (LLVM 15.0.6, 256 bits)", .type = 4, .driver = "llvmpipe", .heaps = {{.size = 8 * kGiB}}},
        {.name = "an old card", .version = vulkan::MakeVersion(1, 0), .type = 77, .heaps = {{.size = kGiB}}}};
  }

  testing::FakeDriver<testing::FakeVulkan> driver_{FAKE_VULKAN, "FakeVulkanAnswers"};
};

TEST_F(VulkanDevicesTest, EachDeviceHasItsIdentityAndItsOwnMemory) {
  const DriverReport report = VulkanDevices(driver_.path());
  EXPECT_EQ(report.state, DriverState::kPresent) << report.reason;
  ASSERT_EQ(report.devices.size(), 3u);
  const Device& radeon = report.devices[0];
  EXPECT_EQ(radeon.name, "AMD Radeon RX 7900");
  EXPECT_EQ(radeon.type, "discrete");
  EXPECT_EQ(radeon.uuid, "8a2f1c3e-0000-4444-9999-0123456789ab");
  EXPECT_EQ(radeon.pci_address, "0000:03:00.1");
  EXPECT_EQ(radeon.total_bytes, 20 * kGiB) << "the host's heap is not the device's";
  EXPECT_EQ(radeon.free_bytes, 15 * kGiB);
  EXPECT_EQ(radeon.driver, "radv 22.3.6");
  EXPECT_EQ(driver_->instances, 0) << "an instance is left over";
}

TEST_F(VulkanDevicesTest, EachVersionTellsWhatItKnows) {
  driver_->version = vulkan::MakeVersion(1, 1);  // a loader of the oldest version that is taken
  for (auto& device : driver_->devices) device.uuid[0] = 1;
  driver_->devices[0].version = vulkan::MakeVersion(1, 1);
  driver_->devices[1].version = vulkan::MakeVersion(1, 2);
  const DriverReport report = VulkanDevices(driver_.path());
  ASSERT_EQ(report.devices.size(), 3u) << report.reason;
  EXPECT_NE(report.devices[0].uuid, "") << "UUIDs came with 1.1";
  EXPECT_EQ(report.devices[0].driver, "") << "and the driver's name with 1.2";
  EXPECT_NE(report.devices[1].uuid, "");
  EXPECT_EQ(report.devices[1].driver, "llvmpipe 22.3.6");
  EXPECT_EQ(report.devices[2].uuid, "") << "1.0 tells neither";
  EXPECT_THAT(driver_->forbidden, IsEmpty());
}

TEST_F(VulkanDevicesTest, WhatADriverDoesNotTellIsUnknown) {
  const DriverReport report = VulkanDevices(driver_.path());
  ASSERT_EQ(report.devices.size(), 3u);
  const Device& pipe = report.devices[1];
  EXPECT_EQ(pipe.type, "cpu");
  EXPECT_EQ(pipe.uuid, "") << "sixteen zeros are no identity";
  EXPECT_EQ(pipe.pci_address, "");
  EXPECT_EQ(pipe.total_bytes, 8 * kGiB);
  EXPECT_FALSE(pipe.free_bytes);
  const Device& old = report.devices[2];
  EXPECT_EQ(old.name, "an old card");
  EXPECT_EQ(old.type, "other");
  EXPECT_EQ(old.driver, "");
}

TEST_F(VulkanDevicesTest, NoDriverIsAskedForWhatItDoesNotKnow) {
  VulkanDevices(driver_.path());
  EXPECT_THAT(driver_->forbidden, IsEmpty());
}

TEST_F(VulkanDevicesTest, NoLoaderNoDriverAndNoDeviceAreNone) {
  EXPECT_EQ(VulkanDevices("libno-such-loader.so.1").state, DriverState::kNone);
  driver_->devices.clear();
  EXPECT_EQ(VulkanDevices(driver_.path()).state, DriverState::kNone);
  driver_->create_error = vulkan::kErrorIncompatibleDriver;
  const DriverReport report = VulkanDevices(driver_.path());
  EXPECT_EQ(report.state, DriverState::kNone);
  EXPECT_THAT(report.reason, HasSubstr("no driver"));
}

TEST_F(VulkanDevicesTest, ALoaderThatDoesNotWorkSaysWhy) {
  driver_->create_error = -1;
  EXPECT_EQ(VulkanDevices(driver_.path()).state, DriverState::kFailed);
  EXPECT_THAT(VulkanDevices(driver_.path()).reason, HasSubstr("vkCreateInstance returns -1"));
  driver_->create_error = 0;
  driver_->version = vulkan::MakeVersion(1, 0);
  EXPECT_THAT(VulkanDevices(driver_.path()).reason, HasSubstr("1.1 or newer"));
  EXPECT_THAT(VulkanDevices("libm.so.6").reason, HasSubstr("libm.so.6"));
}

TEST_F(VulkanDevicesTest, ValuesBeyondTheirBoundsAreCut) {
  driver_->devices = {{.name = std::string(300, 'n'),
                       .extensions = {"VK_EXT_memory_budget"},
                       .heaps = std::vector<testing::FakeHeap>(40, {.size = ~uint64_t{0}, .budget = 1, .usage = 2})}};
  const DriverReport report = VulkanDevices(driver_.path());
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].name, std::string(256, 'n'));
  EXPECT_EQ(report.devices[0].free_bytes, 0) << "more used than there may be";
}

}  // namespace
}  // namespace inferflux::hardware
