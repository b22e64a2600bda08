// The measurements of a server's clients, in numbers.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/inferctl/bench/load_run.h"

namespace inferflux::apps {

struct Percentiles {
  double p50 = 0.0;
  double p90 = 0.0;
  double p99 = 0.0;
};

// Nearest rank: the smallest value with at least that share of values at or below it. Zeros if there are no values.
Percentiles PercentilesOf(std::vector<double> values);

struct LoadReport {
  std::string url;
  int64_t succeeded = 0;
  std::vector<std::string> failures;  // one for each request
  double seconds = 0.0;
  int64_t prompt_tokens = 0;  // of the successful requests
  int64_t cached_tokens = 0;
  int64_t output_tokens = 0;
  Percentiles first_token;  // seconds
  Percentiles between;      // seconds, between tokens

  double output_per_second() const { return seconds > 0 ? static_cast<double>(output_tokens) / seconds : 0; }
  double cached_share() const {
    return prompt_tokens > 0 ? static_cast<double>(cached_tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};

// All rounds of one server combined; their times are added.
LoadReport Summarise(const std::string& url, std::span<const LoadResult> rounds);

boost::json::object ToJson(const LoadReport& report);
// A table with one row for each server, followed by each different failure once.
std::string ToTable(std::span<const LoadReport> reports);

}  // namespace inferflux::apps
