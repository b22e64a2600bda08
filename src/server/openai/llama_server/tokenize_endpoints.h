// llama-server's and vLLM's POST /tokenize, /detokenize, /apply-template and GET /tokenizer_info. The first two take
// the fields of either server, and answer with the members of both. All load the
// model on its first use, as a generation does.
#pragma once

#include <vector>

#include <boost/asio/awaitable.hpp>

#include "net/response_writer.h"
#include "server/reply/field_rows.h"
#include "server/request/services.h"

namespace inferflux::server {

// A text (`content` or `prompt`), or the `messages` of a chat with its template. A text is tokenised as /v1/completions
// does it: it matches control tokens only with `parse_special`.
boost::asio::awaitable<void> Tokenize(Services& services, const Caller& caller, const net::Request& request,
                                      net::ResponseWriter& writer);
boost::asio::awaitable<void> Detokenize(Services& services, const Caller& caller, const net::Request& request,
                                        net::ResponseWriter& writer);

// The prompt of a chat, rendered and not tokenised.
boost::asio::awaitable<void> ApplyTemplate(Services& services, const Caller& caller, const net::Request& request,
                                           net::ResponseWriter& writer);

boost::asio::awaitable<void> TokenizerInfo(Services& services, const Caller& caller, const net::Request& request,
                                           net::ResponseWriter& writer);

// Its fields, for the documentation.
std::vector<FieldRow> TokenizeFieldRows();

}  // namespace inferflux::server
