// The fields of a request that say how the next token is chosen, written straight into the sampler's parameters. Their
// names and ranges are the rows of serving/generation/sampling_table.h.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "server/request/api_error.h"
#include "serving/generation/sampling_table.h"

namespace inferflux::server {

// Takes `value` where `name` is a sampling parameter; false where it is not.
ApiResult<bool> ParseSamplingField(std::string_view name, const boost::json::value& value, serving::SamplingSpec& out);

// What holds between fields: filters that mirostat replaces are an error beside it.
ApiStatus CheckSampling(const serving::SamplingSpec& spec);

}  // namespace inferflux::server
