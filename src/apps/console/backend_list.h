// The list of engines: which are in this build and on what devices, and what each can do in general.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "hardware/device_list.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::apps {

// One line for each engine: whether this build has it and on what, or why not. Then the hardware. `bandwidth`:
// measured, in bytes a second.
std::string BackendsAsText(std::span<const serving::EngineEntry> engines, const hardware::Hardware& hardware,
                           std::optional<double> bandwidth = {});

// {"backends": [{target, provider, available, reason, devices, formats, kv_dtypes, capabilities, tested,
// switched_on_by}], "hardware": {...}}, on one line. hardware_list.h has the second part; it also names the devices of
// the first.
std::string BackendsAsJson(std::span<const serving::EngineEntry> engines, const hardware::Hardware& hardware,
                           std::optional<double> bandwidth = {});

// The table of docs/architecture.md. It does not depend on the build or the machine.
std::string BackendsAsMarkdown();

}  // namespace inferflux::apps
