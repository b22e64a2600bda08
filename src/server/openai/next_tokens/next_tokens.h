// POST /v1/next_tokens: what may come next in an answer, under its schema, expression or grammar. The fields are those
// of a chat or of a raw completion, and the text that the answer begins with. It takes one step of the model.
#pragma once

#include <vector>

#include "net/http_message.h"
#include "server/reply/field_rows.h"
#include "server/reply/job.h"
#include "server/request/services.h"

namespace inferflux::server {

ApiResult<Job> PrepareNextTokens(const Services& services, const net::Request& request, const Caller& caller);

// Its own fields, for the documentation.
std::vector<FieldRow> NextTokensFieldRows();

}  // namespace inferflux::server
