// The hardware of this machine, for `inferctl backends`.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "hardware/device_list.h"

namespace inferflux::apps {

// What is not known is null in JSON.
inline boost::json::value TextOrNull(const std::string& text) {
  return text.empty() ? boost::json::value() : boost::json::value(text);
}

// One line for the processor, and one for each device of each driver, or why there is none. `bandwidth`: measured, in
// bytes a second.
std::string HardwareAsText(const hardware::Hardware& hardware, std::optional<double> bandwidth);

// {"cpu": {name, instruction_sets, usable_cores, cores, total_bytes, free_bytes, read_bandwidth}, "drivers": [{name,
// state, reason, notes}], "devices": [{driver, name, type, uuid, pci_address, total_bytes, free_bytes,
// driver_version}]}. What is unknown is null.
boost::json::object HardwareAsJson(const hardware::Hardware& hardware, std::optional<double> bandwidth);

}  // namespace inferflux::apps
