// Runs a load against one server: a fixed number of clients, or arrivals at random times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/inferctl/bench/load_client.h"
#include "apps/inferctl/bench/load_shape.h"
#include "net/url.h"

namespace inferflux::apps {

struct LoadTarget {
  std::string url;
  net::ServerAddress address;
  std::string api_key;
};

struct LoadResult {
  double seconds = 0.0;  // from the first request to the last token
  std::vector<RequestRecord> records;
};

// Called after each request, by one thread at a time.
using OnRecord = std::function<void(const RequestRecord&)>;

// `should_stop` ends the run early: requests that have not begun are skipped.
LoadResult RunLoad(const LoadTarget& target, const LoadShape& shape, uint64_t round, const OnRecord& on_record,
                   const std::function<bool()>& should_stop);

}  // namespace inferflux::apps
