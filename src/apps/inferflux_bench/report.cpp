#include "apps/inferflux_bench/report.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace inferflux::apps {

std::string Table(const std::vector<Row>& rows) {
  std::string out = fmt::format("{:<20} {:>12} {:>9} {:>9} {:>8}  {:<10} {}\n", "test", "tokens/s", "+-", "ceiling",
                                "device", "bound", "backend, model");
  for (const Row& row : rows) {
    const std::string where = row.device.empty() ? fmt::format("{} ({}), {} threads", row.backend, row.isa, row.threads)
                                                 : fmt::format("{}, {}", row.backend, row.device);
    out += fmt::format("{:<20} {:>12.2f} {:>9.2f} {:>8.1f}% {:>7.1f}%  {:<10} {}, {} {}\n", row.test,
                       row.tokens_per_second, row.stddev, 100.0 * row.ceiling_share, 100.0 * row.device_share,
                       row.bound, where, row.model, row.type);
    if (row.profile.empty()) continue;
    out += fmt::format("  {:>10} {:>8} {:>9} {:>9}  {}\n", "ms", "calls", "of time", "ceiling", "operation");
    for (const ProfileLine& line : row.profile) {
      const std::string share = line.ceiling_share > 0.0 ? fmt::format("{:.1f}%", 100.0 * line.ceiling_share) : "";
      out += fmt::format("  {:>10.2f} {:>8} {:>8.1f}% {:>9}  {}\n", 1e3 * line.seconds, line.calls,
                         100.0 * line.time_share, share, line.operation);
    }
  }
  return out;
}

std::string Json(const std::vector<Row>& rows) {
  boost::json::array out;
  for (const Row& row : rows) {
    boost::json::object fields{{"test", row.test},
                               {"tokens_per_second", row.tokens_per_second},
                               {"stddev", row.stddev},
                               {"ceiling_share", row.ceiling_share},
                               {"bound", row.bound},
                               {"backend", row.backend},
                               {"device", row.device},
                               {"isa", row.isa},
                               {"threads", row.threads},
                               {"model", row.model},
                               {"type", row.type},
                               {"device_share", row.device_share},
                               {"load_seconds", row.load_seconds}};
    for (const ProfileLine& line : row.profile) {
      if (!fields.contains("profile")) fields["profile"] = boost::json::array();
      fields["profile"].as_array().push_back({{"operation", line.operation},
                                              {"calls", line.calls},
                                              {"seconds", line.seconds},
                                              {"time_share", line.time_share},
                                              {"ceiling_share", line.ceiling_share}});
    }
    out.push_back(std::move(fields));
  }
  return boost::json::serialize(out) + "\n";
}

}  // namespace inferflux::apps
