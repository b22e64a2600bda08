#include "apps/inferflux_bench/report.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace inferflux::apps {

std::string Table(const std::vector<Row>& rows) {
  std::string out = fmt::format("{:<20} {:>12} {:>9} {:>9}  {:<10} {}\n", "test", "tokens/s", "+-", "ceiling", "bound",
                                "backend, model");
  for (const Row& row : rows) {
    out += fmt::format("{:<20} {:>12.2f} {:>9.2f} {:>8.1f}%  {:<10} {} ({}), {} threads, {} {}\n", row.test,
                       row.tokens_per_second, row.stddev, 100.0 * row.ceiling_share, row.bound, row.backend, row.isa,
                       row.threads, row.model, row.type);
  }
  return out;
}

std::string Json(const std::vector<Row>& rows) {
  boost::json::array out;
  for (const Row& row : rows) {
    out.push_back({{"test", row.test},
                   {"tokens_per_second", row.tokens_per_second},
                   {"stddev", row.stddev},
                   {"ceiling_share", row.ceiling_share},
                   {"bound", row.bound},
                   {"backend", row.backend},
                   {"isa", row.isa},
                   {"threads", row.threads},
                   {"model", row.model},
                   {"type", row.type}});
  }
  return boost::json::serialize(out) + "\n";
}

}  // namespace inferflux::apps
