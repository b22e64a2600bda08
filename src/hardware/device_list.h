// The hardware of this machine: its processor, and the devices of every driver that it has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hardware/cpu.h"
#include "hardware/device.h"

namespace inferflux::hardware {

// The names of the drivers' libraries; an empty one is not opened.
struct DriverLibraries {
  std::string nvml;
  std::string vulkan;
  std::string metal;
  std::string objc;
};

// Those of this operating system.
DriverLibraries SystemLibraries();

// Asks each driver. This may take tenths of a second, and starts drivers that were asleep.
std::vector<DriverReport> ListDrivers(const DriverLibraries& libraries = SystemLibraries());

struct Hardware {
  Cpu cpu;
  std::vector<DriverReport> drivers;
};

Hardware ReadHardware();

// Whether a user's word is the device's UUID, PCI address or name.
bool IsNamed(const Device& device, std::string_view word);

}  // namespace inferflux::hardware
