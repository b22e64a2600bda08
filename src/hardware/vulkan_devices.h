// The devices that Vulkan's loader knows, with all drivers that are installed for it. The loader is opened at run time.
#pragma once

#include <string>

#include "hardware/device.h"

namespace inferflux::hardware {

// Asks the loader of this name.
DriverReport VulkanDevices(const std::string& library);

}  // namespace inferflux::hardware
