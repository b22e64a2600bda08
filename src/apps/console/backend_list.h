// The engines that there are: in this build with what they would compute on, and in general with what they can do.
#pragma once

#include <span>
#include <string>

#include "serving/backends/backend_factory.h"

namespace inferflux::apps {

// A line an engine: whether this build has it here and on what, or why not.
std::string BackendsAsText(std::span<const serving::EngineEntry> engines);

// {"backends": [{target, provider, available, reason, devices, formats, kv_dtypes, capabilities, tested,
// switched_on_by}]}, on one line.
std::string BackendsAsJson(std::span<const serving::EngineEntry> engines);

// The table of docs/architecture.md; it does not depend on the build or the machine.
std::string BackendsAsMarkdown();

}  // namespace inferflux::apps
