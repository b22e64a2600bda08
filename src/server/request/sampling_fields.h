// The sampling fields of a request, written directly into the sampler's parameters. The rows of
// serving/generation/sampling_table.h give their names and ranges.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>
#include <vector>

#include "server/request/api_error.h"
#include "serving/generation/sampling_table.h"

namespace inferflux::server {

// Reads `value` if `name` is a sampling parameter; otherwise returns false. `param` names the field in errors.
ApiResult<bool> ParseSamplingField(std::string_view name, std::string_view param, const boost::json::value& value,
                                   serving::SamplingSpec& out);
inline ApiResult<bool> ParseSamplingField(std::string_view name, const boost::json::value& value,
                                          serving::SamplingSpec& out) {
  return ParseSamplingField(name, name, value, out);
}
// Appends the names of the parameters, for suggestions.
void AppendSamplingNames(std::vector<std::string_view>& out);

// Checks constraints between fields: filters that mirostat replaces are errors if it is on.
ApiStatus CheckSampling(const serving::SamplingSpec& spec);

}  // namespace inferflux::server
