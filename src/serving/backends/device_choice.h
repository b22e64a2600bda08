// Which of an engine's devices a user's word means: its number, UUID, PCI address or name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hardware/device_list.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::serving {

inline constexpr int32_t kAnyDevice = -1;

// Whether the word leaves the choice to the engine: empty, or -1.
bool LeavesDeviceOpen(std::string_view word);

// Lists what the machine's drivers know. Asked only for a word that the engine's own list does not explain, because
// drivers take their time.
using ListDrivers = std::vector<hardware::DriverReport> (*)();

// What the machine's own drivers say.
std::vector<hardware::DriverReport> ThisMachinesDrivers();

// The index of the device in the list, or kAnyDevice. An engine that knows a device by its PCI address alone has it by
// its UUID too: the machine's drivers say which belong together. kInvalidArgument, with the list, if the word means
// none of them or several.
Result<int32_t> ChooseDevice(std::span<const compute::Device> devices, std::string_view word,
                             ListDrivers drivers = &ThisMachinesDrivers);
// In the engine's list. An engine without one has one device, 0.
Result<int32_t> ChooseDevice(const EngineEntry& engine, std::string_view word);

// The word for the chosen device that means the same one in every process, whatever devices it sees: its UUID or its
// PCI address where it has one, else its number. Empty for kAnyDevice.
std::string StableDeviceWord(std::span<const compute::Device> devices, int32_t index);

}  // namespace inferflux::serving
