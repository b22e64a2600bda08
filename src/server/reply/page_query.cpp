#include "server/reply/page_query.h"

#include <boost/json/serialize.hpp>
#include <charconv>
#include <system_error>
#include <utility>

namespace inferflux::server {
namespace asio = boost::asio;
std::string QueryText(const net::Request& request, const std::string& name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string() : found->second;
}

ApiResult<PageQuery> ReadPageQuery(const net::Request& request, int64_t usual, int64_t most) {
  PageQuery out{.limit = usual, .after = QueryText(request, "after")};
  if (const std::string given = QueryText(request, "limit"); !given.empty()) {
    const char* end = given.data() + given.size();
    const auto [rest, error] = std::from_chars(given.data(), end, out.limit);
    if (error != std::errc() || rest != end || out.limit < 1 || out.limit > most) {
      return Refuse("limit", "must be an integer from 1 to {}", most);
    }
  }
  const std::string order = QueryText(request, "order");
  if (!order.empty() && order != "asc" && order != "desc") return Refuse("order", "must be \"asc\" or \"desc\"");
  out.newest_first = order != "asc";
  return out;
}

asio::awaitable<void> AnswerInPool(Services& services, const Caller& caller, net::ResponseWriter& writer,
                                   std::function<net::Response()> make) {
  net::Response reply;
  const std::function<void()> work = [&] { reply = make(); };
  co_await services.preparation.RunWhole(caller, writer, work);
  co_await writer.Send(std::move(reply));
}

net::Response ObjectReply(const ApiResult<boost::json::object>& body) {
  if (!body) return ErrorResponse(body.error());
  return net::Response(200, "application/json", boost::json::serialize(*body));
}

}  // namespace inferflux::server
