// A Mac's devices, as a fake of Metal and of the Objective-C runtime lists them.
#include "hardware/metal_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/fake_driver.h"

namespace inferflux::hardware {
namespace {

struct MetalAnswers {
  int pools = 0;
  int released = 0;
  bool devices = true;
  bool names = true;
};

TEST(MetalDevices, HaveAKindAndWhatIsFreeOfTheirMemory) {
  const testing::FakeDriver<MetalAnswers> driver(FAKE_METAL, "FakeMetalAnswers");
  driver->released = 0;  // by tests before
  const DriverReport report = MetalDevices(FAKE_METAL, FAKE_METAL);
  EXPECT_EQ(report.state, DriverState::kPresent) << report.reason;
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.devices[0].name, "Apple M4");
  EXPECT_EQ(report.devices[0].type, "integrated");
  EXPECT_EQ(report.devices[0].total_bytes, int64_t{12} << 30);
  EXPECT_EQ(report.devices[0].free_bytes, int64_t{10} << 30);
  EXPECT_EQ(report.kind, DriverKind::kMetal);
  EXPECT_EQ(report.reason, "");
  for (const Device& device : report.devices) EXPECT_EQ(device.kind, DriverKind::kMetal);
  EXPECT_EQ(report.devices[1].name, "AMD Radeon Pro 5500M");
  EXPECT_EQ(report.devices[1].type, "discrete");
  EXPECT_EQ(report.devices[1].total_bytes, int64_t{12} << 30);
  EXPECT_EQ(report.devices[1].free_bytes, 0) << "more is allocated than is recommended";
  EXPECT_EQ(driver->pools, 0);
  EXPECT_EQ(driver->released, 1);
}

TEST(MetalDevices, MayHaveNoNameOrBeNone) {
  const testing::FakeDriver<MetalAnswers> driver(FAKE_METAL, "FakeMetalAnswers");
  driver->names = false;
  const DriverReport nameless = MetalDevices(FAKE_METAL, FAKE_METAL);
  ASSERT_EQ(nameless.devices.size(), 2u);
  EXPECT_EQ(nameless.devices[0].name, "");
  driver->released = 0;
  driver->devices = false;
  const DriverReport none = MetalDevices(FAKE_METAL, FAKE_METAL);
  EXPECT_EQ(none.state, DriverState::kNone);
  EXPECT_EQ(none.reason, "");
  EXPECT_TRUE(none.devices.empty());
  EXPECT_EQ(driver->pools, 0);
  EXPECT_EQ(driver->released, 0) << "there is nothing to release";
}

TEST(MetalDevices, NeedEachFunctionOfTheRuntime) {
  const testing::FakeDriver<MetalAnswers> driver(FAKE_METAL, "FakeMetalAnswers");
  for (const char* runtime : {"libm.so.6", FAKE_OBJC_NO_SEND, FAKE_OBJC_NO_POOL}) {
    const DriverReport report = MetalDevices(FAKE_METAL, runtime);
    EXPECT_EQ(report.state, DriverState::kFailed) << runtime;
    EXPECT_EQ(report.reason, FAKE_METAL " has no MTLCopyAllDevices, or the Objective-C runtime is missing");
    EXPECT_TRUE(report.devices.empty());
  }
  EXPECT_EQ(MetalDevices("libm.so.6", FAKE_METAL).state, DriverState::kFailed);
}

TEST(MetalDevices, AreNoneWhereThereIsNoMetal) {
  EXPECT_EQ(MetalDevices("", "").state, DriverState::kNone);
  EXPECT_EQ(MetalDevices(FAKE_METAL, "libno-objective-c.so").state, DriverState::kFailed);
}

}  // namespace
}  // namespace inferflux::hardware
