#include "hardware/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace inferflux::hardware {
namespace {

TEST(DeviceList, HasAReportOfEachDriver) {
  const auto none = ListDrivers({});
  ASSERT_EQ(none.size(), 3u);
  EXPECT_EQ(none[0].kind, DriverKind::kNvidia);
  EXPECT_EQ(none[1].kind, DriverKind::kVulkan);
  EXPECT_EQ(none[2].kind, DriverKind::kMetal);
  for (const DriverReport& report : none) {
    EXPECT_EQ(report.reason, "");
    EXPECT_EQ(report.state, DriverState::kNone) << NameOf(report.kind);
    EXPECT_TRUE(report.devices.empty());
  }
}

TEST(DeviceList, AsksTheLibrariesThatItIsGiven) {
  const auto reports =
      ListDrivers({.nvml = "libm.so.6", .vulkan = "libm.so.6", .metal = FAKE_METAL, .objc = FAKE_METAL});
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].state, DriverState::kFailed);
  EXPECT_EQ(reports[1].state, DriverState::kFailed);
  EXPECT_EQ(reports[2].state, DriverState::kPresent);
  EXPECT_EQ(ListDrivers({.nvml = {}, .vulkan = {}, .metal = FAKE_METAL, .objc = "libno-objective-c.so"})[2].state,
            DriverState::kFailed);
#if defined(__linux__)
  const DriverLibraries libraries = SystemLibraries();
  EXPECT_EQ(libraries.nvml, "libnvidia-ml.so.1");
  EXPECT_EQ(libraries.vulkan, "libvulkan.so.1");
  EXPECT_EQ(libraries.metal + libraries.objc, "");
#endif
}

// What a machine's own drivers allocate and keep is not ours to free: Mesa's lavapipe leaves 128 bytes behind when its
// loader unloads it, and LeakSanitizer cannot name a module that is gone.
class DriverAllocations {
 public:
#ifdef __SANITIZE_ADDRESS__
  DriverAllocations() { __lsan_disable(); }
  ~DriverAllocations() { __lsan_enable(); }
#else
  DriverAllocations() {}
#endif
};

// Whatever drivers this machine has.
TEST(DeviceList, ThisMachinesDriversAnswerOrAreNone) {
  const DriverAllocations kept;
  const Hardware hardware = ReadHardware();
  for (const DriverReport& report : hardware.drivers) {
    EXPECT_EQ(report.devices.empty(), report.state != DriverState::kPresent) << NameOf(report.kind) << report.reason;
    for (const Device& device : report.devices) {
      EXPECT_FALSE(device.name.empty());
      EXPECT_TRUE(IsNamed(device, device.name));
      EXPECT_EQ(IsNamed(device, device.uuid), !device.uuid.empty());
      EXPECT_EQ(IsNamed(device, device.pci_address), !device.pci_address.empty());
      EXPECT_LE(device.free_bytes.value_or(0), device.total_bytes.value_or(0));
    }
  }
}

TEST(DeviceList, NoWordNamesADeviceWithoutAnIdentity) {
  EXPECT_FALSE(IsNamed(Device{}, ""));
  const Device card{.name = "card", .type = {}, .uuid = "GPU-1-2", .pci_address = "0000:01:00.0"};
  for (const char* word : {"card", "gpu-1-2", "1-2", "01:00.0"}) EXPECT_TRUE(IsNamed(card, word)) << word;
  for (const char* word : {"", "Card 2", "0", "02:00.0"}) EXPECT_FALSE(IsNamed(card, word)) << word;
}

}  // namespace
}  // namespace inferflux::hardware
