#include "serving/backends/device_choice.h"

#include <algorithm>

namespace inferflux::serving {
namespace {

constexpr double kDeviceGiB = 1 << 30;

std::string ListOf(std::span<const compute::Device> devices) {
  std::string out;
  for (size_t i = 0; i < devices.size(); ++i) {
    const compute::Device& device = devices[i];
    out += fmt::format("{}{} ({}{}{}, {:.1f} GiB free)", i == 0 ? "" : ", ", i, device.name,
                       device.pci_address.empty() ? "" : ", ", device.pci_address,
                       static_cast<double>(device.free_bytes) / kDeviceGiB);
  }
  return out.empty() ? "none" : out;
}

// The machine's device of that word, as its drivers know it.
std::vector<hardware::Device> KnownToDrivers(std::string_view word, ListDrivers drivers) {
  std::vector<hardware::Device> out;
  for (hardware::DriverReport& report : drivers()) {
    for (hardware::Device& device : report.devices) {
      if (hardware::IsNamed(device, word)) out.push_back(std::move(device));
    }
  }
  return out;
}

void AddNamed(std::span<const compute::Device> devices, const std::string& word, std::vector<int32_t>& out) {
  for (const int32_t index : compute::DevicesNamed(devices, word)) {
    if (std::ranges::find(out, index) == out.end()) out.push_back(index);
  }
}

bool IsNumber(std::string_view word) { return word.find_first_not_of("0123456789") == std::string_view::npos; }

}  // namespace

bool LeavesDeviceOpen(std::string_view word) { return word.empty() || word == "-1"; }

std::vector<hardware::DriverReport> ThisMachinesDrivers() { return hardware::ListDrivers(); }

Result<int32_t> ChooseDevice(std::span<const compute::Device> devices, std::string_view word, ListDrivers drivers) {
  if (LeavesDeviceOpen(word)) return kAnyDevice;
  auto named = compute::DevicesNamed(devices, word);
  std::string elsewhere;
  if (named.empty() && !IsNumber(word)) {
    for (const hardware::Device& device : KnownToDrivers(word, drivers)) {
      AddNamed(devices, device.pci_address, named);
      AddNamed(devices, device.uuid, named);
      elsewhere = fmt::format(" (it is {}, on which this backend does not compute)", device.name);
    }
  }
  if (named.size() == 1) return named.front();
  if (named.size() > 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "{} devices are '{}': this backend has {}; set 'device' to a UUID, a PCI address or a number",
                named.size(), word, ListOf(devices));
  }
  return Fail(ErrorCode::kInvalidArgument,
              "there is no device {}{}: this backend has {}; set 'device' to {}, or leave it out", word, elsewhere,
              ListOf(devices), devices.size() > 1 ? "one of them" : "0");
}

Result<int32_t> ChooseDevice(const EngineEntry& engine, std::string_view word) {
  if (LeavesDeviceOpen(word)) return kAnyDevice;
  return ChooseDevice(engine.devices ? engine.devices() : std::vector<compute::Device>(1), word);
}

std::string StableDeviceWord(std::span<const compute::Device> devices, int32_t index) {
  if (index < 0) return {};
  const auto place = static_cast<size_t>(index);
  if (place < devices.size()) {
    // An id such as "Vulkan0" counts devices: it is no better than the number.
    for (const std::string& word : {devices[place].uuid, devices[place].pci_address}) {
      if (compute::DevicesNamed(devices, word).size() == 1) return word;
    }
  }
  return std::to_string(index);
}

}  // namespace inferflux::serving
