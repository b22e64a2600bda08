#include "apps/console/hardware_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json/array.hpp>
#include <cstdint>
#include <utility>

namespace inferflux::apps {
namespace json = boost::json;
namespace {

constexpr double kGiB = 1 << 30;
constexpr double kGB = 1e9;

// ", 12.1 of 16.0 GiB free"; nothing if it is unknown.
std::string MemoryText(std::optional<int64_t> total, std::optional<int64_t> free) {
  if (!total) return {};
  const double all = static_cast<double>(*total) / kGiB;
  if (!free) return fmt::format(", {:.1f} GiB", all);
  return fmt::format(", {:.1f} of {:.1f} GiB free", static_cast<double>(*free) / kGiB, all);
}

std::string DeviceText(const hardware::Device& device) {
  std::string out = device.name + ", " + device.type;
  if (!device.uuid.empty()) out += ", UUID " + device.uuid;
  if (!device.pci_address.empty()) out += ", PCI " + device.pci_address;
  out += MemoryText(device.total_bytes, device.free_bytes);
  if (!device.driver.empty()) out += ", driver " + device.driver;
  return out;
}

std::string Line(std::string_view kind, const std::string& text) { return fmt::format("{:10} {}\n", kind, text); }

json::value NumberOrNull(std::optional<int64_t> number) { return number ? json::value(*number) : json::value(); }

json::object CpuAsJson(const hardware::Cpu& cpu, std::optional<double> bandwidth) {
  return {{"name", TextOrNull(cpu.name)},
          {"instruction_sets", json::array(cpu.instruction_sets.begin(), cpu.instruction_sets.end())},
          {"usable_cores", cpu.usable_cores},
          {"cores", cpu.cores},
          {"total_bytes", NumberOrNull(cpu.total_bytes)},
          {"free_bytes", NumberOrNull(cpu.free_bytes)},
          {"read_bandwidth", bandwidth ? json::value(static_cast<int64_t>(*bandwidth)) : json::value()}};
}

json::object DeviceAsJson(const hardware::Device& device) {
  return {{"driver", NameOf(device.kind)},
          {"name", device.name},
          {"type", device.type},
          {"uuid", TextOrNull(device.uuid)},
          {"pci_address", TextOrNull(device.pci_address)},
          {"total_bytes", NumberOrNull(device.total_bytes)},
          {"free_bytes", NumberOrNull(device.free_bytes)},
          {"driver_version", TextOrNull(device.driver)}};
}

}  // namespace

std::string HardwareAsText(const hardware::Hardware& hardware, std::optional<double> bandwidth) {
  const hardware::Cpu& cpu = hardware.cpu;
  std::string out = "hardware\n";
  out += Line("cpu", fmt::format("{}, {} of {} cores{}, {}{}", cpu.name.empty() ? "processor" : cpu.name,
                                 cpu.usable_cores, cpu.cores, MemoryText(cpu.total_bytes, cpu.free_bytes),
                                 cpu.instruction_sets.empty() ? "no instruction set that has kernels of its own"
                                                              : fmt::format("{}", fmt::join(cpu.instruction_sets, " ")),
                                 bandwidth ? fmt::format(", reads {:.1f} GB/s", *bandwidth / kGB) : ""));
  for (const hardware::DriverReport& driver : hardware.drivers) {
    const std::string_view name = NameOf(driver.kind);
    for (const hardware::Device& device : driver.devices) out += Line(name, DeviceText(device));
    if (driver.devices.empty()) {
      const std::string_view state = driver.state == hardware::DriverState::kFailed ? "failed" : "none";
      out += Line(name, fmt::format("{}{}{}", state, driver.reason.empty() ? "" : ": ", driver.reason));
    }
    for (const std::string& note : driver.notes) out += Line("", note);
  }
  return out;
}

json::object HardwareAsJson(const hardware::Hardware& hardware, std::optional<double> bandwidth) {
  json::array drivers, devices;
  for (const hardware::DriverReport& driver : hardware.drivers) {
    drivers.push_back(json::object{{"name", NameOf(driver.kind)},
                                   {"state", NameOf(driver.state)},
                                   {"reason", TextOrNull(driver.reason)},
                                   {"notes", json::array(driver.notes.begin(), driver.notes.end())}});
    for (const hardware::Device& device : driver.devices) devices.push_back(DeviceAsJson(device));
  }
  return {
      {"cpu", CpuAsJson(hardware.cpu, bandwidth)}, {"drivers", std::move(drivers)}, {"devices", std::move(devices)}};
}

}  // namespace inferflux::apps
