// One request of a benchmark: sent, timed token by token, and checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/inferctl/api_client.h"
#include "apps/inferctl/bench/load_shape.h"

namespace inferflux::apps {

struct RequestRecord {
  std::string failure;        // empty: whole, and as asked
  double first_token = 0.0;   // seconds from sending
  std::vector<double> gaps;   // seconds between pieces of text that came at different times
  int64_t prompt_tokens = 0;  // as the server counted them
  int64_t cached_tokens = 0;
  int64_t output_tokens = 0;
};

// Fails where the text is empty, the finish reason is not "length" or the server's count is not what was asked for: a
// fast server that says nothing has failed.
RequestRecord RunRequest(ApiClient& client, const LoadShape& shape, const std::vector<int32_t>& prompt);

}  // namespace inferflux::apps
