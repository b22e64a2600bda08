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
};

TEST(MetalDevices, HaveAKindAndWhatIsFreeOfTheirMemory) {
  const testing::FakeDriver<MetalAnswers> driver(FAKE_METAL, "FakeMetalAnswers");
  const DriverReport report = MetalDevices(FAKE_METAL, FAKE_METAL);
  EXPECT_EQ(report.state, DriverState::kPresent) << report.reason;
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.devices[0].name, "Apple M4");
  EXPECT_EQ(report.devices[0].type, "integrated");
  EXPECT_EQ(report.devices[0].total_bytes, int64_t{12} << 30);
  EXPECT_EQ(report.devices[0].free_bytes, int64_t{10} << 30);
  EXPECT_EQ(report.devices[1].type, "discrete");
  EXPECT_EQ(report.devices[1].free_bytes, 0) << "more is allocated than is recommended";
  EXPECT_EQ(driver->pools, 0);
  EXPECT_EQ(driver->released, 1);
}

TEST(MetalDevices, AreNoneWhereThereIsNoMetal) {
  EXPECT_EQ(MetalDevices("", "").state, DriverState::kNone);
  EXPECT_EQ(MetalDevices(FAKE_METAL, "libno-objective-c.so").state, DriverState::kFailed);
}

}  // namespace
}  // namespace inferflux::hardware
