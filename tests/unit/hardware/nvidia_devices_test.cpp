// NVIDIA's devices, as a fake of its management library lists them.
#include "hardware/nvidia_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/fake_driver.h"
#include "hardware/fake_nvml.h"

namespace inferflux::hardware {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NvidiaDevicesTest : public ::testing::Test {
 protected:
  NvidiaDevicesTest() {
    driver_->gpus = {{.name = "NVIDIA H100 80GB HBM3",
                      .uuid = "GPU-8a2f1c3e-0000-4444-9999-0123456789ab",
                      .domain = 0,
                      .bus = 0xc1,
                      .device = 0,
                      .total = uint64_t{80} << 30,
                      .free = uint64_t{70} << 30},
                     {.name = "NVIDIA L4",
                      .uuid = "GPU-00000000-1111-2222-3333-444455556666",
                      .domain = 1,
                      .bus = 0x0a,
                      .device = 0x1f,
                      .total = uint64_t{24} << 30,
                      .free = uint64_t{1} << 30}};
  }

  testing::FakeDriver<testing::FakeNvml> driver_{FAKE_NVML, "FakeNvmlAnswers"};
};

TEST_F(NvidiaDevicesTest, EachDeviceHasItsIdentityAndItsMemory) {
  const DriverReport report = NvidiaDevices(driver_.path());
  EXPECT_EQ(report.state, DriverState::kPresent);
  ASSERT_EQ(report.devices.size(), 2u);
  const Device& second = report.devices[1];
  EXPECT_EQ(second.name, "NVIDIA L4");
  EXPECT_EQ(second.uuid, "GPU-00000000-1111-2222-3333-444455556666");
  EXPECT_EQ(second.pci_address, "0001:0a:1f.0");
  EXPECT_EQ(report.kind, DriverKind::kNvidia);
  EXPECT_EQ(report.reason, "");
  for (const Device& device : report.devices) {
    EXPECT_EQ(device.kind, DriverKind::kNvidia);
    EXPECT_EQ(device.type, "discrete");
    EXPECT_EQ(device.driver, "550.54.14");
  }
  EXPECT_EQ(report.devices[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(report.devices[0].uuid, "GPU-8a2f1c3e-0000-4444-9999-0123456789ab");
  EXPECT_EQ(report.devices[0].pci_address, "0000:c1:00.0");
  EXPECT_EQ(report.devices[0].total_bytes, int64_t{80} << 30);
  EXPECT_EQ(report.devices[0].free_bytes, int64_t{70} << 30);
  EXPECT_EQ(second.total_bytes, int64_t{24} << 30);
  EXPECT_EQ(second.free_bytes, int64_t{1} << 30);
  EXPECT_EQ(second.driver, "550.54.14");
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_EQ(driver_->open, 0) << "the library was not shut down";
}

TEST_F(NvidiaDevicesTest, ALibraryThatIsAbsentOrHasNoDriverIsNone) {
  EXPECT_EQ(NvidiaDevices("libno-such-driver.so.1").state, DriverState::kNone);
  EXPECT_EQ(NvidiaDevices("").state, DriverState::kNone);
  driver_->init_error = 9;
  const DriverReport report = NvidiaDevices(driver_.path());
  EXPECT_EQ(report.state, DriverState::kNone);
  EXPECT_EQ(report.reason, "Driver Not Loaded");
  EXPECT_THAT(report.devices, IsEmpty());
}

TEST_F(NvidiaDevicesTest, ADriverThatDoesNotWorkSaysWhy) {
  driver_->init_error = 18;
  const DriverReport mismatch = NvidiaDevices(driver_.path());
  EXPECT_EQ(mismatch.state, DriverState::kFailed);
  EXPECT_EQ(mismatch.reason, "Driver/library version mismatch");
  driver_->init_error = 0;
  driver_->count_error = 99;
  const DriverReport uncounted = NvidiaDevices(driver_.path());
  EXPECT_EQ(uncounted.state, DriverState::kFailed);
  EXPECT_EQ(uncounted.reason, "it does not count its devices: error 99") << "a code that has no text";
  EXPECT_EQ(driver_->open, 0);
}

TEST_F(NvidiaDevicesTest, ALostDeviceDoesNotHideTheOthers) {
  driver_->gpus[0].handle_error = 15;
  const DriverReport report = NvidiaDevices(driver_.path());
  EXPECT_EQ(report.state, DriverState::kPresent);
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].name, "NVIDIA L4");
  EXPECT_THAT(report.notes, ElementsAre("device 0: GPU is lost"));
  driver_->gpus.pop_back();
  EXPECT_EQ(NvidiaDevices(driver_.path()).state, DriverState::kFailed) << "there is one, and it does not answer";
  EXPECT_EQ(NvidiaDevices(driver_.path()).reason, "none of its devices answers");
  driver_->gpus.clear();
  EXPECT_EQ(NvidiaDevices(driver_.path()).state, DriverState::kNone);
  EXPECT_EQ(NvidiaDevices(driver_.path()).reason, "the driver finds no device");
  EXPECT_THAT(NvidiaDevices(driver_.path()).notes, IsEmpty());
}

TEST_F(NvidiaDevicesTest, WhatADeviceDoesNotTellIsNoted) {
  driver_->driver_error = 3;
  driver_->gpus[0].name = std::string(128, 'n');
  driver_->gpus[0].uuid = std::string(128, 'u');
  driver_->gpus[1].name = std::string(127, 'n');
  driver_->gpus[1].pci_error = 15;
  const DriverReport report = NvidiaDevices(driver_.path());
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.devices[0].name, "");
  EXPECT_EQ(report.devices[0].uuid, "");
  EXPECT_EQ(report.devices[0].driver, "");
  EXPECT_EQ(report.devices[0].pci_address, "0000:c1:00.0");
  EXPECT_EQ(report.devices[1].name, std::string(127, 'n')) << "with its end it just fits";
  EXPECT_EQ(report.devices[1].pci_address, "");
  EXPECT_THAT(report.notes, ElementsAre("the driver's version: Not Supported", "device 0, its name: Unknown Error",
                                        "device 0, its UUID: Unknown Error", "device 1, its PCI address: GPU is lost"));
}

TEST_F(NvidiaDevicesTest, MemoryThatIsNotToldIsUnknownAndNotNothing) {
  driver_->gpus[0].memory_error = 3;  // GPUs that share the host's memory
  const DriverReport report = NvidiaDevices(driver_.path());
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_FALSE(report.devices[0].total_bytes);
  EXPECT_FALSE(report.devices[0].free_bytes);
  EXPECT_EQ(report.devices[0].pci_address, "0000:c1:00.0");
  EXPECT_THAT(report.notes, ElementsAre("device 0, its memory: Not Supported"));
}

TEST_F(NvidiaDevicesTest, ACountThatCannotBeIsNotBelieved) {
  driver_->extra_count = 4'000'000'000u;
  const DriverReport report = NvidiaDevices(driver_.path());
  EXPECT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.notes.size(), 1022u) << "1024 are asked";
  EXPECT_EQ(report.notes.front(), "device 2: Unknown Error");
}

TEST_F(NvidiaDevicesTest, AnotherLibraryOfThatNameIsToldByWhatItLacks) {
  const DriverReport report = NvidiaDevices("libm.so.6");
  EXPECT_EQ(report.state, DriverState::kFailed);
  EXPECT_EQ(report.reason, "libm.so.6 has no nvmlInit_v2; a newer driver has it");
}

}  // namespace
}  // namespace inferflux::hardware
