// What Vulkan's devices report at the edges of what they may, and what is said of a loader that fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hardware/fake_driver.h"
#include "hardware/fake_vulkan.h"
#include "hardware/vulkan_devices.h"

namespace inferflux::hardware {
namespace {

using ::testing::IsEmpty;

constexpr uint64_t kGigabyte = uint64_t{1} << 30;

class VulkanReportsTest : public ::testing::Test {
 protected:
  Device OnlyDevice() {
    const DriverReport report = VulkanDevices(driver_.path());
    EXPECT_EQ(report.state, DriverState::kPresent) << report.reason;
    EXPECT_EQ(report.devices.size(), 1u);
    EXPECT_THAT(driver_->forbidden, IsEmpty());
    return report.devices.empty() ? Device() : report.devices.front();
  }
  // A driver that fails: why.
  std::string Failure() {
    const DriverReport report = VulkanDevices(driver_.path());
    EXPECT_EQ(report.kind, DriverKind::kVulkan);
    EXPECT_EQ(report.state, DriverState::kFailed);
    EXPECT_THAT(report.devices, IsEmpty());
    EXPECT_EQ(driver_->instances, 0) << "an instance is left over";
    return report.reason;
  }

  testing::FakeDriver<testing::FakeVulkan> driver_{FAKE_VULKAN, "FakeVulkanAnswers"};
};

TEST_F(VulkanReportsTest, ADeviceIsOfOneOfFiveTypes) {
  const std::pair<int32_t, const char*> types[] = {{-1, "other"},  {0, "other"}, {1, "integrated"}, {2, "discrete"},
                                                   {3, "virtual"}, {4, "cpu"},   {5, "other"},      {77, "other"}};
  for (const auto& [type, name] : types) {
    driver_->devices = {{.name = "card", .type = type}};
    const Device device = OnlyDevice();
    EXPECT_EQ(device.type, name) << type;
    EXPECT_EQ(device.kind, DriverKind::kVulkan);
  }
}

TEST_F(VulkanReportsTest, TheDriverIsItsNameAndItsVersion) {
  struct Row {
    const char* name;
    const char* version;
    const char* shown;
  };
  for (const Row& row :
       {Row{"radv", "22.3.6", "radv 22.3.6"}, Row{"radv", "", "radv"}, Row{"", "22.3.6", "22.3.6"}, Row{"", "", ""}}) {
    driver_->devices = {{.name = "card", .driver = row.name, .driver_info = row.version}};
    EXPECT_EQ(OnlyDevice().driver, row.shown);
  }
  driver_->devices = {{.name = "card",
                       .version = vulkan::MakeVersion(1, 1),
                       .driver = "radv",
                       .extensions = {"VK_KHR_driver_properties"}}};
  EXPECT_EQ(OnlyDevice().driver, "radv 22.3.6") << "an older driver that has the extension";
}

TEST_F(VulkanReportsTest, MemoryIsThatOfTheDevicesOwnHeaps) {
  const auto memory = [&](std::vector<testing::FakeHeap> heaps) {
    driver_->devices = {{.name = "card", .extensions = {"VK_EXT_memory_budget"}, .heaps = std::move(heaps)}};
    const Device device = OnlyDevice();
    return std::pair(device.total_bytes, device.free_bytes);
  };
  using Bytes = std::pair<std::optional<int64_t>, std::optional<int64_t>>;
  EXPECT_EQ(memory({{.size = 10, .budget = 9, .usage = 4},
                    {.size = 100, .flags = 2, .budget = 100},
                    {.size = 7, .flags = 3, .budget = 6, .usage = 5}}),
            Bytes(17, 6));
  EXPECT_EQ(memory({{.size = 10, .budget = 3, .usage = 4},
                    {.size = 10, .budget = 5, .usage = 5},
                    {.size = 10, .budget = 4, .usage = 3}}),
            Bytes(30, 1))
      << "more may be used than there is";
  EXPECT_EQ(memory({{.size = 10, .budget = 50, .usage = 1}}), Bytes(10, 10));
  EXPECT_EQ(memory({}), Bytes(0, 0));
  EXPECT_EQ(memory({{.size = ~uint64_t{0}, .budget = ~uint64_t{0}}}),
            Bytes(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(memory(std::vector<testing::FakeHeap>(16, {.size = kGigabyte})).first, int64_t{16} << 30);
  EXPECT_EQ(memory(std::vector<testing::FakeHeap>(40, {.size = kGigabyte})).first, int64_t{16} << 30)
      << "there are 16 heaps";
}

TEST_F(VulkanReportsTest, ListsAreReadUpToALength) {
  driver_->devices.assign(1024, {.name = "card"});
  EXPECT_EQ(VulkanDevices(driver_.path()).devices.size(), 1024u);
  driver_->devices.assign(1025, {.name = "card"});
  const DriverReport cut = VulkanDevices(driver_.path());
  EXPECT_EQ(cut.state, DriverState::kPresent) << cut.reason;
  EXPECT_EQ(cut.devices.size(), 1024u);
  driver_->devices = {{.name = "card"}};
  driver_->extra_count = 5;
  EXPECT_EQ(OnlyDevice().name, "card") << "the others went meanwhile";
  for (const size_t before : {4095, 4096}) {
    std::vector<std::string> extensions(before, "VK_other");
    extensions.emplace_back("VK_EXT_pci_bus_info");
    driver_->devices = {{.name = "card", .pci = {1, 2, 3, 4}, .extensions = std::move(extensions)}};
    EXPECT_EQ(OnlyDevice().pci_address, before == 4095 ? "0001:02:03.4" : "");
  }
}

TEST_F(VulkanReportsTest, TheLoaderIsToldWhoAsksAndForWhichVersion) {
  driver_->devices = {{.name = "card"}};
  OnlyDevice();
  EXPECT_EQ(driver_->application, "inferflux");
  EXPECT_EQ(driver_->application_version, vulkan::MakeVersion(1, 1));
}

TEST_F(VulkanReportsTest, AFailureIsSaid) {
  driver_->devices = {{.name = "card"}};
  driver_->count_error = -3;
  EXPECT_EQ(Failure(), "vkEnumeratePhysicalDevices failed with -3");
  driver_->count_error = 0;
  driver_->list_error = -1;
  EXPECT_EQ(Failure(), "vkEnumeratePhysicalDevices failed with -1");
  driver_->list_error = 0;
  driver_->creates_nothing = true;
  EXPECT_EQ(Failure(), "vkCreateInstance returns 0");
  driver_->creates_nothing = false;
  driver_->create_error = -4;
  EXPECT_EQ(Failure(), "vkCreateInstance returns -4");
  driver_->create_error = 0;
  driver_->version_error = -1;
  const std::string old = std::string(driver_.path()) + " is no loader of Vulkan 1.1 or newer";
  EXPECT_EQ(Failure(), old);
  driver_->version_error = 0;
  driver_->version = vulkan::MakeVersion(1, 1) - 1;
  EXPECT_EQ(Failure(), old);
  EXPECT_EQ(VulkanDevices("libm.so.6").reason, "libm.so.6 is no loader of Vulkan 1.1 or newer");
}

TEST_F(VulkanReportsTest, EachFunctionIsNeeded) {
  driver_->devices = {{.name = "card"}};
  const std::string old = std::string(driver_.path()) + " is no loader of Vulkan 1.1 or newer";
  for (const char* name : {"vkEnumerateInstanceVersion", "vkCreateInstance"}) {
    driver_->missing = {name};
    EXPECT_EQ(Failure(), old) << name;
  }
  for (const char* name : {"vkEnumeratePhysicalDevices", "vkEnumerateDeviceExtensionProperties",
                           "vkGetPhysicalDeviceProperties2", "vkGetPhysicalDeviceMemoryProperties2"}) {
    driver_->missing = {name};
    EXPECT_EQ(Failure(), "the loader lacks functions of Vulkan 1.1") << name;
  }
  driver_->missing = {"vkDestroyInstance"};
  EXPECT_EQ(VulkanDevices(driver_.path()).reason, "the loader lacks functions of Vulkan 1.1");
}

TEST_F(VulkanReportsTest, AnEmptyListIsNoFailure) {
  const DriverReport none = VulkanDevices(driver_.path());
  EXPECT_EQ(none.state, DriverState::kNone);
  EXPECT_EQ(none.reason, "the loader finds no device");
  EXPECT_EQ(driver_->instances, 0);
  driver_->create_error = vulkan::kErrorIncompatibleDriver;
  EXPECT_EQ(VulkanDevices(driver_.path()).reason, "the loader finds no driver");
  EXPECT_EQ(VulkanDevices("libno-such-loader.so.1").reason, "");
}

}  // namespace
}  // namespace inferflux::hardware
