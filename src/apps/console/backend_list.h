// The list of engines: which are in this build and on what devices, and what each can do in general.
#pragma once

#include <span>
#include <string>

#include "serving/backends/backend_factory.h"

namespace inferflux::apps {

// One line for each engine: whether this build has it and on what, or why not.
std::string BackendsAsText(std::span<const serving::EngineEntry> engines);

// {"backends": [{target, provider, available, reason, devices, formats, kv_dtypes, capabilities, tested,
// switched_on_by}]}, on one line.
std::string BackendsAsJson(std::span<const serving::EngineEntry> engines);

// The table of docs/architecture.md. It does not depend on the build or the machine.
std::string BackendsAsMarkdown();

}  // namespace inferflux::apps
