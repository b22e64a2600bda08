#include "serving/backends/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferflux::serving {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kFirstUuid[] = "GPU-8a2f1c3e-0000-4444-9999-0123456789ab";
constexpr char kSecondUuid[] = "GPU-00000000-1111-2222-3333-444455556666";

// Two cards of one kind, as llama.cpp lists them: by PCI address, without a UUID.
const std::vector<compute::Device> kCards = {
    {.name = "NVIDIA L4", .free_bytes = int64_t{8} << 30, .id = "CUDA0", .gpu = true, .pci_address = "0000:01:00.0"},
    {.name = "NVIDIA L4", .free_bytes = int64_t{24} << 30, .id = "CUDA1", .gpu = true, .pci_address = "0000:c1:00.0"}};

// The driver has them the other way round, and knows a third card.
std::vector<hardware::DriverReport> Drivers() {
  hardware::DriverReport nvidia{.state = hardware::DriverState::kPresent};
  nvidia.devices = {{.name = "NVIDIA L4", .type = {}, .uuid = kSecondUuid, .pci_address = "0000:c1:00.0"},
                    {.name = "NVIDIA L4", .type = {}, .uuid = kFirstUuid, .pci_address = "0000:01:00.0"},
                    {.name = "NVIDIA T4", .type = {}, .uuid = "GPU-7", .pci_address = "0000:02:00.0"}};
  return {nvidia};
}

std::vector<hardware::DriverReport> NotAsked() {
  ADD_FAILURE() << "the engine's own list says it";
  return {};
}

std::string ErrorOf(std::string_view word) {
  const auto chosen = ChooseDevice(kCards, word, &Drivers);
  if (chosen) return "(no error)";
  EXPECT_EQ(chosen.error().code, ErrorCode::kInvalidArgument);
  return chosen.error().message;
}

TEST(DeviceChoice, ANumberAPciAddressAndAnIdMeanOneDevice) {
  for (const char* word : {"1", "0000:c1:00.0", "00000000:C1:00.0", "c1:00.0", "CUDA1", "cuda1"}) {
    EXPECT_EQ(ChooseDevice(kCards, word, &NotAsked), 1) << word;
  }
}

TEST(DeviceChoice, AUuidMeansTheDeviceThatTheDriverHasAtThatAddress) {
  EXPECT_EQ(ChooseDevice(kCards, kFirstUuid, &Drivers), 0);
  EXPECT_EQ(ChooseDevice(kCards, kSecondUuid, &Drivers), 1);
  EXPECT_EQ(ChooseDevice(kCards, "00000000-1111-2222-3333-444455556666", &Drivers), 1);
}

TEST(DeviceChoice, AnEmptyWordAndMinusOneLeaveItOpen) {
  for (const char* word : {"", "-1"}) {
    EXPECT_EQ(ChooseDevice(kCards, word, &NotAsked), kAnyDevice);
    EXPECT_EQ(ChooseDevice(std::vector<compute::Device>(), word, &NotAsked), kAnyDevice);
  }
}

TEST(DeviceChoice, AWordThatMeansNoneOrSeveralIsAnErrorThatListsThem) {
  EXPECT_THAT(ErrorOf("2"), AllOf(HasSubstr("no device 2"), HasSubstr("0 (NVIDIA L4, 0000:01:00.0, 8.0 GiB free)"),
                                  HasSubstr("1 (NVIDIA L4, 0000:c1:00.0, 24.0 GiB free)")));
  EXPECT_THAT(ErrorOf("GPU-unknown"), HasSubstr("no device GPU-unknown: this backend has 0"));
  EXPECT_THAT(ErrorOf("NVIDIA L4"), AllOf(HasSubstr("2 devices are 'NVIDIA L4'"), HasSubstr("UUID")));
  EXPECT_THAT(ErrorOf("GPU-7"), HasSubstr("it is NVIDIA T4, on which this backend does not compute"));
}

TEST(DeviceChoice, AnEngineWithoutAListHasOneDevice) {
  EXPECT_EQ(ChooseDevice(EngineEntry{}, "0"), 0);
  EXPECT_FALSE(ChooseDevice(EngineEntry{}, "1"));
  EXPECT_EQ(ChooseDevice(EngineEntry{}, ""), kAnyDevice);
}

TEST(DeviceChoice, WorkersGetAWordThatDoesNotDependOnTheOrder) {
  EXPECT_EQ(StableDeviceWord(kCards, 1), "0000:c1:00.0");
  EXPECT_EQ(StableDeviceWord(kCards, kAnyDevice), "");
  auto known = kCards;
  known[1].uuid = kSecondUuid;
  EXPECT_EQ(StableDeviceWord(known, 1), kSecondUuid);
  const std::vector<compute::Device> pipe = {{.name = "llvmpipe", .id = "Vulkan0"}};
  EXPECT_EQ(StableDeviceWord(pipe, 0), "0") << "it has no identity";
  known[0].pci_address = known[1].pci_address;
  known[1].uuid = "";
  EXPECT_EQ(StableDeviceWord(known, 1), "1") << "two at one address";
}

}  // namespace
}  // namespace inferflux::serving
