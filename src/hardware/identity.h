// How devices are told apart: by UUID and PCI address, which do not depend on the order in which a driver lists them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace inferflux::hardware {

// "0000:c1:00.0", as Linux and llama.cpp write it.
std::string PciAddress(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function);

// "8a2f1c3e-...": groups of 8, 4, 4, 4 and 12 digits. Empty if all bytes are 0.
std::string Uuid(std::span<const uint8_t, 16> bytes);

// Without regard to case, and to NVIDIA's prefix "GPU-". False if either is empty.
bool SameUuid(std::string_view a, std::string_view b);

// Without regard to case and to leading zeros of the domain ("00000000:c1:00.0"), which may be left out ("c1:00.0"), as
// may the function ("c1:00"). False if either is no PCI address.
bool SamePciAddress(std::string_view a, std::string_view b);

}  // namespace inferflux::hardware
