// Writes a plan as a commented server.yaml.
#pragma once

#include <string>

#include "apps/inferctl/quickstart/plan.h"

namespace inferflux::apps {

// `serves`: the model's absolute path; empty: the bundled model, which needs no line.
std::string ServerYaml(const QuickstartPlan& plan, const std::string& serves);

}  // namespace inferflux::apps
