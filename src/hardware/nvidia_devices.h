// NVIDIA's GPUs, from the driver's management library (NVML), which is opened at run time. The declarations are our
// own: the few functions and structs of NVML's API reference that a list of devices needs.
#pragma once

#include <string>

#include "hardware/device.h"

namespace inferflux::hardware {

// Asks the library of this name.
DriverReport NvidiaDevices(const std::string& library);

}  // namespace inferflux::hardware
