// A device as its driver reports it. A device that two drivers know (an NVIDIA GPU with Vulkan) is listed by both, with
// the same UUID and PCI address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inferflux::hardware {

enum class DriverKind : uint8_t { kNvidia, kVulkan, kMetal };

constexpr std::string_view NameOf(DriverKind kind) {
  switch (kind) {
    case DriverKind::kNvidia:
      return "nvidia";
    case DriverKind::kVulkan:
      return "vulkan";
    case DriverKind::kMetal:
      break;
  }
  return "metal";
}

struct Device {
  DriverKind kind = DriverKind::kNvidia;
  std::string name;
  std::string type;         // "discrete", "integrated", "virtual", "cpu" or "other"
  std::string uuid;         // as the driver's own tools print it; empty: unknown
  std::string pci_address;  // "0000:c1:00.0"; empty: unknown, or not on a PCI bus
  std::optional<int64_t> total_bytes = {};
  std::optional<int64_t> free_bytes = {};
  std::string driver = {};  // its version
};

enum class DriverState : uint8_t {
  kNone,     // this machine does not have it
  kPresent,  // it answered
  kFailed,   // it is there, and does not work
};

constexpr std::string_view NameOf(DriverState state) {
  switch (state) {
    case DriverState::kNone:
      return "none";
    case DriverState::kPresent:
      return "present";
    case DriverState::kFailed:
      break;
  }
  return "failed";
}

// What one driver answered.
struct DriverReport {
  DriverKind kind = DriverKind::kNvidia;
  DriverState state = DriverState::kNone;
  std::string reason = {};              // why it failed, or why it is none where its library is there
  std::vector<std::string> notes = {};  // what it did not tell of a device
  std::vector<Device> devices = {};
};

}  // namespace inferflux::hardware
