#include "dspy_http/http_lm.h"

#include <boost/json/serialize.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "dspy_http/chat_body.h"
#include "net/client.h"
#include "net/sse.h"

namespace inferflux::dspy {
namespace {

class HttpLm final : public LM {
 public:
  HttpLm(HttpConfig config, net::ServerAddress address)
      : config_(std::move(config)), name_(config_.model.empty() ? "default" : config_.model), address_(address) {}

  std::string_view name() const override { return name_; }
  LmTraits traits() const override {
    return {.chat_template = config_.chat_template, .constraints = config_.constraints, .tools = config_.chat_template};
  }

  Result<LmResponse> Generate(const LmRequest& request) override {
    net::Client client(address_);
    client.should_stop = [&] { return request.cancel.stop_requested() || Late(request); };
    // Calls of tools arrive in pieces of their own in a stream; an answer that may have some is read whole.
    const bool stream = request.on_text && request.tools.empty();
    net::ClientRequest call;
    call.method = "POST";
    call.target = request.messages.empty() ? "/completions" : "/chat/completions";
    if (!config_.api_key.empty()) call.headers.push_back({"Authorization", "Bearer " + config_.api_key});
    call.body = boost::json::serialize(RequestBody(request, config_, stream));
    return stream ? Stream(client, call, request) : Whole(client, call, request);
  }

 private:
  static bool Late(const LmRequest& request) {
    return request.deadline && std::chrono::steady_clock::now() >= *request.deadline;
  }

  Error Failure(const inferflux::Error& error, const LmRequest& request) const {
    if (request.cancel.stop_requested()) {
      return {.code = ErrorCode::kCancelled, .message = "the caller cancelled the call"};
    }
    if (Late(request)) {
      return {.code = ErrorCode::kTimeout, .message = "the call's time was over before its answer was complete"};
    }
    return {.code = ErrorCode::kBackendError, .message = fmt::format("{}: {}", config_.url, error.message)};
  }

  Result<LmResponse> Whole(const net::Client& client, const net::ClientRequest& call, const LmRequest& request) const {
    const auto response = client.Send(call);
    if (!response) return tl::make_unexpected(Failure(response.error(), request));
    if (response->status != 200) return tl::make_unexpected(ReadRefusal(response->status, response->body));
    auto out = ReadAnswer(response->body);
    if (out && request.on_text && !out->text.empty()) request.on_text(out->text);
    return out;
  }

  Result<LmResponse> Stream(const net::Client& client, const net::ClientRequest& call, const LmRequest& request) const {
    LmResponse out;
    net::SseParser events;
    std::optional<Error> broken;
    bool done = false;
    const auto take = [&](const net::SseParser::Event& event) {
      if (broken || done) return;
      done = event.data == "[DONE]";
      if (done) return;
      const auto text = AddEvent(event.data, out);
      if (!text) {
        broken = text.error();
      } else if (!text->empty()) {
        request.on_text(*text);
      }
    };
    const auto response = client.Stream(call, [&](std::string_view piece) {
      const auto fed = events.Feed(piece, take);
      if (!fed && !broken) broken = Error{.code = ErrorCode::kInferenceFailed, .message = fed.error().message};
    });
    if (!response) return tl::make_unexpected(Failure(response.error(), request));
    if (response->status != 200) return tl::make_unexpected(ReadRefusal(response->status, response->body));
    if (broken) return tl::make_unexpected(std::move(*broken));
    if (!done) return Fail(ErrorCode::kBackendError, "{}: the answer was cut off", config_.url);
    return out;
  }

  const HttpConfig config_;
  const std::string name_;
  const net::ServerAddress address_;
};

}  // namespace

Result<std::shared_ptr<LM>> ConnectLm(const HttpConfig& config) {
  auto address = net::ParseServerAddress(config.url);
  if (!address) return FailAt("url", Error::kNoPosition, "{}", address.error().message);
  if (config.api_key.find_first_of("\r\n") != std::string::npos) {
    return FailAt("api_key", Error::kNoPosition, "the API key has a line break");
  }
  return std::make_shared<HttpLm>(config, std::move(*address));
}

}  // namespace inferflux::dspy
