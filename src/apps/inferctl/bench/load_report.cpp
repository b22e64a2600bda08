#include "apps/inferctl/bench/load_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace inferflux::apps {
namespace json = boost::json;
namespace {

json::object Milliseconds(const Percentiles& seconds) {
  return {{"p50", seconds.p50 * 1e3}, {"p90", seconds.p90 * 1e3}, {"p99", seconds.p99 * 1e3}};
}

}  // namespace

Percentiles PercentilesOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
    return values[std::max<size_t>(1, rank) - 1];
  };
  return {.p50 = at(0.5), .p90 = at(0.9), .p99 = at(0.99)};
}

LoadReport Summarise(const std::string& url, std::span<const LoadResult> rounds) {
  LoadReport out{.url = url};
  std::vector<double> first, between;
  for (const LoadResult& round : rounds) {
    out.seconds += round.seconds;
    for (const RequestRecord& record : round.records) {
      if (!record.failure.empty()) {
        out.failures.push_back(record.failure);
        continue;
      }
      ++out.succeeded;
      out.prompt_tokens += record.prompt_tokens;
      out.cached_tokens += record.cached_tokens;
      out.output_tokens += record.output_tokens;
      first.push_back(record.first_token);
      between.insert(between.end(), record.gaps.begin(), record.gaps.end());
    }
  }
  out.first_token = PercentilesOf(std::move(first));
  out.between = PercentilesOf(std::move(between));
  return out;
}

json::object ToJson(const LoadReport& report) {
  json::object out;
  out["url"] = report.url;
  out["succeeded"] = report.succeeded;
  out["failed"] = report.failures.size();
  out["seconds"] = report.seconds;
  out["output_tokens"] = report.output_tokens;
  out["output_tokens_per_second"] = report.output_per_second();
  out["prompt_tokens"] = report.prompt_tokens;
  out["cached_share"] = report.cached_share();
  out["time_to_first_token_ms"] = Milliseconds(report.first_token);
  out["inter_token_ms"] = Milliseconds(report.between);
  return out;
}

std::string ToTable(std::span<const LoadReport> reports) {
  size_t width = 6;
  for (const LoadReport& report : reports) width = std::max(width, report.url.size());
  std::string out = fmt::format("{:{}}  {:>9}  {:>21}  {:>21}  {:>6}  {:>6}  {:>6}\n", "server", width, "out tok/s",
                                "first token p50/p99", "between p50/p99", "cached", "ok", "failed");
  for (const LoadReport& report : reports) {
    out += fmt::format("{:{}}  {:>9.1f}  {:>18} ms  {:>18} ms  {:>5.1f}%  {:>6}  {:>6}\n", report.url, width,
                       report.output_per_second(),
                       fmt::format("{:.1f} / {:.1f}", report.first_token.p50 * 1e3, report.first_token.p99 * 1e3),
                       fmt::format("{:.1f} / {:.1f}", report.between.p50 * 1e3, report.between.p99 * 1e3),
                       report.cached_share() * 100, report.succeeded, report.failures.size());
  }
  for (const LoadReport& report : reports) {
    std::map<std::string, int> counts;
    for (const std::string& failure : report.failures) ++counts[failure];
    for (const auto& [failure, count] : counts) out += fmt::format("{}: {} x {}\n", report.url, count, failure);
  }
  return out;
}

}  // namespace inferflux::apps
