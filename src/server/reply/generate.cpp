#include "server/reply/generate.h"

#include <string>
#include <utility>

#include "server/reply/reply_loop.h"
#include "server/request/count_request.h"
#include "server/request/first_use.h"

namespace inferflux::server {
namespace asio = boost::asio;
asio::awaitable<void> Generate(GeneratingEndpoint endpoint, Services& services, const Caller& caller,
                               const net::Request& request, net::ResponseWriter& writer) {
  const std::string name(endpoint.name);
  const Prepare<Job> prepare = [&](const Caller& who) { return endpoint.prepare(services, request, who); };
  const Prepared<Job> job = co_await PrepareWithModel<Job>(services, caller, prepare, writer);
  if (!*job) {
    CountRequest(services.metrics, name, nullptr, "rejected");
    co_await writer.Send(endpoint.refuse(job->error()));
    co_return;
  }
  const auto model = (*job)->model;
  if ((*job)->ready) {
    CountRequest(services.metrics, name, model.get(), "stop");
    co_await writer.Send(std::move(*(*job)->ready));
    co_return;
  }
  const Outcome outcome = co_await Reply(std::move(**job), writer);
  CountRequest(services.metrics, name, model.get(), outcome);
}

}  // namespace inferflux::server
