// llama-server's POST /infill: a model writes the middle between a prefix and a suffix.
#pragma once

#include <vector>

#include "net/http_message.h"
#include "server/reply/field_rows.h"
#include "server/reply/job.h"
#include "server/request/services.h"

namespace inferflux::server {

// 400 if the model's vocabulary has no marks for it.
ApiResult<Job> PrepareInfill(const Services& services, const net::Request& request, const Caller& caller);

// Its fields, for the documentation.
std::vector<FieldRow> InfillFieldRows();

}  // namespace inferflux::server
