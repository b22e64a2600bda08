// A Mac's GPUs, from Metal, which is opened at run time and called through the Objective-C runtime, so that this needs
// no Objective-C compiler. Tested with a fake library only: no Mac has run it.
#pragma once

#include <string>

#include "hardware/device.h"

namespace inferflux::hardware {

// Asks Metal through the libraries of these names: Metal's own, and the Objective-C runtime.
DriverReport MetalDevices(const std::string& metal, const std::string& objc);

}  // namespace inferflux::hardware
