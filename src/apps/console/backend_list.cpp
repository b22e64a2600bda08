#include "apps/console/backend_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <vector>

#include "apps/console/hardware_list.h"
#include "hardware/identity.h"
#include "serving/backends/backend_table.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

using serving::BackendRow;
using serving::EngineEntry;

json::array Words(const std::vector<std::string_view>& words) { return json::array(words.begin(), words.end()); }

// The UUID of an engine's device: its own, or that of the driver's device at the same PCI address.
std::string UuidOf(const compute::Device& device, const hardware::Hardware& hardware) {
  if (!device.uuid.empty()) return device.uuid;
  for (const hardware::DriverReport& driver : hardware.drivers) {
    for (const hardware::Device& known : driver.devices) {
      if (!known.uuid.empty() && hardware::SamePciAddress(known.pci_address, device.pci_address)) return known.uuid;
    }
  }
  return {};
}

json::array Devices(const EngineEntry& engine, const hardware::Hardware& hardware) {
  json::array out;
  for (const compute::Device& device : engine.devices()) {
    out.push_back(json::object{{"name", device.name},
                               {"id", TextOrNull(device.id)},
                               {"uuid", TextOrNull(UuidOf(device, hardware))},
                               {"pci_address", TextOrNull(device.pci_address)},
                               {"free_bytes", device.free_bytes}});
  }
  return out;
}

std::string DeviceNames(const EngineEntry& engine) {
  const auto devices = engine.devices();
  if (devices.size() == 1) return devices.front().name;
  std::vector<std::string> names;  // with the numbers that `device` takes
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string& pci = devices[i].pci_address;
    names.push_back(fmt::format("{}: {}{}{}", i, devices[i].name, pci.empty() ? "" : " at ", pci));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string NoteOf(const EngineEntry& engine) { return engine.note.empty() ? "" : "; " + engine.note; }

const EngineEntry* FindEngine(std::span<const EngineEntry> engines, const BackendRow& row) {
  for (const EngineEntry& engine : engines) {
    if (engine.target == row.target && engine.provider == row.provider) return &engine;
  }
  return nullptr;
}

std::string ReasonOf(const EngineEntry* engine, const BackendRow& row) {
  return engine != nullptr ? engine->why_absent : std::string(row.switched_on_by);
}

}  // namespace

std::string BackendsAsText(std::span<const EngineEntry> engines, const hardware::Hardware& hardware,
                           std::optional<double> bandwidth) {
  std::string out;
  for (const BackendRow& row : serving::BackendTable()) {
    const EngineEntry* engine = FindEngine(engines, row);
    const bool here = engine != nullptr && engine->make;
    out += fmt::format("{:10} {:10} {}\n", serving::Traits(row.target).name, serving::ProviderName(row.provider),
                       here ? "yes  " + DeviceNames(*engine) + NoteOf(*engine) : "no   " + ReasonOf(engine, row));
  }
  return out + "\n" + HardwareAsText(hardware, bandwidth);
}

std::string BackendsAsJson(std::span<const EngineEntry> engines, const hardware::Hardware& hardware,
                           std::optional<double> bandwidth) {
  json::array rows;
  for (const BackendRow& row : serving::BackendTable()) {
    const EngineEntry* engine = FindEngine(engines, row);
    const bool here = engine != nullptr && engine->make;
    rows.push_back(json::object{{"target", serving::Traits(row.target).name},
                                {"provider", serving::ProviderName(row.provider)},
                                {"available", here},
                                {"reason", here ? "" : ReasonOf(engine, row)},
                                {"note", here ? engine->note : ""},
                                {"devices", here ? Devices(*engine, hardware) : json::array()},
                                {"formats", Words(FormatWords(row))},
                                {"kv_dtypes", Words(row.kv_dtypes)},
                                {"capabilities", Words(CapabilityWords(row))},
                                {"tested", row.tested},
                                {"switched_on_by", row.switched_on_by}});
  }
  const json::object all{{"backends", std::move(rows)}, {"hardware", HardwareAsJson(hardware, bandwidth)}};
  return json::serialize(all) + "\n";
}

std::string BackendsAsMarkdown() {
  std::string out =
      "| target | provider | formats | KV types | can | tested on | switched on by |\n|---|---|---|---|---|---|---|\n";
  for (const BackendRow& row : serving::BackendTable()) {
    out += fmt::format("| `{}` | `{}` | {} | {} | {} | {} | {} |\n", serving::Traits(row.target).name,
                       serving::ProviderName(row.provider), fmt::join(FormatWords(row), ", "),
                       fmt::join(row.kv_dtypes, " "), fmt::join(CapabilityWords(row), ", "), row.tested,
                       row.switched_on_by);
  }
  return out;
}

}  // namespace inferflux::apps
