// One request of a benchmark: sent, timed token by token, and checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/inferctl/bench/load_shape.h"
#include "apps/inferctl/client/api_client.h"

namespace inferflux::apps {

struct RequestRecord {
  std::string failure;        // empty: the answer was complete and as requested
  double first_token = 0.0;   // seconds from sending
  std::vector<double> gaps;   // seconds between pieces of text that arrived at different times
  int64_t prompt_tokens = 0;  // the server's count
  int64_t cached_tokens = 0;
  int64_t output_tokens = 0;
};

// An error if the text is empty, the finish reason is not "length" or the server's count is not the requested one: a
// fast server without content has failed.
RequestRecord RunRequest(ApiClient& client, const LoadShape& shape, const std::vector<int32_t>& prompt);

}  // namespace inferflux::apps
