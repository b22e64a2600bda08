// A plan as a commented server.yaml.
#pragma once

#include <string>

#include "apps/inferctl/quickstart/plan.h"

namespace inferflux::apps {

// `serves`: the model's file, absolute; empty: the model that ships, which needs no line.
std::string ServerYaml(const QuickstartPlan& plan, const std::string& serves);

}  // namespace inferflux::apps
