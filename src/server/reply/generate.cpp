#include "server/reply/generate.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "server/reply/reply_loop.h"
#include "server/request/count_request.h"
#include "server/request/first_use.h"
#include "server/request/json_body.h"
#include "serving/generation/sampling_table.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr size_t kMostSmallBytes = 4096;

// Fields whose preparation takes a time that the size of the body bounds. A grammar's does not, so neither tools nor
// formats are here.
constexpr std::string_view kQuickFields[] = {
    "model", "prompt",     "messages", "system",         "stream",   "max_tokens",  "n", "max_completion_tokens",
    "stop",  "ignore_eos", "user",     "stream_options", "logprobs", "top_logprobs"};

// Nor does the size of an image's file bound that of the image.
bool IsPlainText(const json::value& messages) {
  const json::array* all = messages.if_array();
  return all != nullptr && std::ranges::all_of(*all, [](const json::value& message) {
           return message.is_object() && std::ranges::all_of(message.get_object(), [](const auto& field) {
                    return field.value().is_string();
                  });
         });
}

bool IsQuick(const json::key_value_pair& field) {
  const std::string_view name = field.key();
  if (name == "messages") return IsPlainText(field.value());
  return std::ranges::count(kQuickFields, name) > 0 ||
         std::ranges::count(serving::SamplingTable(), name, &serving::SamplingRow::name) > 0;
}

PreparationSize SizeOf(const net::Request& request) {
  if (request.body.size() > kMostSmallBytes) return PreparationSize::kAny;
  const auto body = ParseJsonBody(request.body);
  return body && std::ranges::all_of(*body, IsQuick) ? PreparationSize::kSmall : PreparationSize::kAny;
}

}  // namespace

asio::awaitable<void> Generate(GeneratingEndpoint endpoint, Services& services, const Caller& caller,
                               const net::Request& request, net::ResponseWriter& writer) {
  const std::string name(endpoint.name);
  const Prepare<Job> prepare = [&](const Caller& who) { return endpoint.prepare(services, request, who); };
  const Prepared<Job> job = co_await PrepareWithModel<Job>(services, caller, prepare, writer, SizeOf(request));
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
  BindToCaller(caller, **job);
  const Outcome outcome = co_await Reply(std::move(**job), writer);
  CountRequest(services.metrics, name, model.get(), outcome);
}

}  // namespace inferflux::server
