// The figures of the whole server at one moment: counters since its start, what runs now, and the workers' states.
#pragma once

#include <boost/json/object.hpp>

#include "server/request/services.h"

namespace inferflux::server {

boost::json::object LiveFigures(const Services& services);

}  // namespace inferflux::server
