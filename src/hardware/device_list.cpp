#include "hardware/device_list.h"

#include "hardware/identity.h"
#include "hardware/metal_devices.h"
#include "hardware/nvidia_devices.h"
#include "hardware/vulkan_devices.h"

namespace inferflux::hardware {

DriverLibraries SystemLibraries() {
#if defined(__APPLE__)
  return {.nvml = {},
          .vulkan = "libvulkan.1.dylib",
          .metal = "/System/Library/Frameworks/Metal.framework/Metal",
          .objc = "/usr/lib/libobjc.A.dylib"};
#else
  return {.nvml = "libnvidia-ml.so.1", .vulkan = "libvulkan.so.1", .metal = {}, .objc = {}};
#endif
}

std::vector<DriverReport> ListDrivers(const DriverLibraries& libraries) {
  return {NvidiaDevices(libraries.nvml), VulkanDevices(libraries.vulkan),
          MetalDevices(libraries.metal, libraries.objc)};
}

Hardware ReadHardware() { return {.cpu = ReadCpu(), .drivers = ListDrivers()}; }

bool IsNamed(const Device& device, std::string_view word) {
  return SameUuid(device.uuid, word) || SamePciAddress(device.pci_address, word) ||
         (!word.empty() && device.name == word);
}

}  // namespace inferflux::hardware
