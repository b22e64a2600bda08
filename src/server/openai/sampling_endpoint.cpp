#include "server/openai/sampling_endpoint.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <type_traits>
#include <utility>

#include "serving/generation/sampling_table.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

json::object DescribeNumber(double initial, const serving::SamplingRow& row, std::string_view type) {
  return {{"name", row.name},   {"type", type},       {"minimum", row.min},
          {"maximum", row.max}, {"default", initial}, {"description", row.help}};
}

json::object DescribeRow(const serving::SamplingRow& row) {
  static const engine::SamplingParams kInitial;
  if (const auto* number = std::get_if<float engine::SamplingParams::*>(&row.member)) {
    // Converts through the shortest spelling: 0.1f is 0.10000000149 as a double.
    return DescribeNumber(std::stod(fmt::format("{}", kInitial.*(*number))), row, "number");
  }
  if (const auto* integer = std::get_if<int32_t engine::SamplingParams::*>(&row.member)) {
    return DescribeNumber(kInitial.*(*integer), row, "integer");
  }
  if (std::holds_alternative<bool engine::SamplingParams::*>(row.member)) return DescribeNumber(0, row, "integer");
  return {{"name", row.name}, {"type", "other"}, {"default", nullptr}, {"description", row.help}};
}

}  // namespace

net::Response ListSamplingParameters(Services&, const net::Request&) {
  json::array data;
  for (const serving::SamplingRow& row : serving::SamplingTable()) data.push_back(DescribeRow(row));
  const json::object out = {{"object", "list"}, {"data", std::move(data)}};
  return net::Response(200, "application/json", json::serialize(out));
}

}  // namespace inferflux::server
