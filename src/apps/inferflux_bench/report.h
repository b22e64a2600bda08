// The results, as a table or as JSON.
#pragma once

#include <string>
#include <vector>

#include "apps/inferflux_bench/profile.h"

namespace inferflux::apps {

struct Row {
  std::string test;
  double tokens_per_second = 0.0;
  double stddev = 0.0;
  // From 0 to 1: share of the peak rate of the machine, or of the device where it is measured, during the test; 0: of a
  // GPU that is not.
  double ceiling_share = 0.0;
  double device_share = 0.0;  // from 0 to 1: share of the time in which the device computed; 0: unknown
  std::string bound;          // "bandwidth" or "compute"
  std::string backend;
  std::string device;  // whose ceiling it is; empty: the processor's
  std::string isa;
  int threads = 0;
  double load_seconds = 0.0;  // from the file to an engine that is ready
  std::string model;
  std::string type;
  std::vector<ProfileLine> profile;  // empty: not requested
};

std::string Table(const std::vector<Row>& rows);
std::string Json(const std::vector<Row>& rows);

}  // namespace inferflux::apps
