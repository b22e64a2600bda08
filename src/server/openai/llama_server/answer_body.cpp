#include "server/openai/llama_server/answer_body.h"

#include <boost/json/serialize.hpp>
#include <utility>

#include "server/request/first_use.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;

asio::awaitable<void> AnswerBody(BodyOf make, Services& services, const Caller& caller, const net::Request& request,
                                 net::ResponseWriter& writer) {
  const Prepare<json::value> prepare = [&](const Caller&) { return make(services, request); };
  const Prepared<json::value> body = co_await PrepareWithModel<json::value>(services, caller, prepare, writer);
  net::Response response =
      *body ? net::Response(200, "application/json", json::serialize(**body)) : ErrorResponse(body->error());
  co_await writer.Send(std::move(response));
}

}  // namespace inferflux::server
