#include "compute/device.h"

#include <charconv>

#include "hardware/identity.h"

namespace inferflux::compute {

std::vector<int32_t> DevicesNamed(std::span<const Device> devices, std::string_view word) {
  if (word.empty()) return {};
  size_t index = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), index);
  if (parsed.ec == std::errc() && parsed.ptr == word.data() + word.size() && index < devices.size()) {
    return {static_cast<int32_t>(index)};
  }
  std::vector<int32_t> by_identity, by_name;
  for (size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    if (hardware::SameUuid(device.uuid, word) || hardware::SamePciAddress(device.pci_address, word) ||
        hardware::SameUuid(device.id, word)) {
      by_identity.push_back(static_cast<int32_t>(i));
    }
    if (device.name == word) by_name.push_back(static_cast<int32_t>(i));
  }
  return by_identity.empty() ? by_name : by_identity;
}

Result<int32_t> FindDevice(std::span<const Device> devices, std::string_view word, std::string_view backend) {
  if (devices.empty()) return Fail(ErrorCode::kUnsupported, "the backend {} has no device on this machine", backend);
  if (word.empty()) return 0;
  const auto named = DevicesNamed(devices, word);
  if (named.size() == 1) return named.front();
  std::string known;
  for (size_t i = 0; i < devices.size(); ++i) {
    known += fmt::format("{}{} ({}{}{})", i == 0 ? "" : ", ", i, devices[i].name, devices[i].id.empty() ? "" : ", ",
                         devices[i].id);
  }
  if (named.size() > 1) {
    return Fail(ErrorCode::kInvalidArgument, "the backend {} has {} devices '{}': it has {}", backend, named.size(),
                word, known);
  }
  return Fail(ErrorCode::kInvalidArgument, "the backend {} has no device '{}': it has {}", backend, word, known);
}

}  // namespace inferflux::compute
