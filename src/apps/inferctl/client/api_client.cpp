#include "apps/inferctl/client/api_client.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>

#include "net/sse.h"

namespace inferflux::apps {
namespace json = boost::json;
namespace {

std::optional<std::string> ErrorMessage(const json::value& value) {
  const json::object* object = value.if_object();
  const json::value* error = object == nullptr ? nullptr : object->if_contains("error");
  if (error != nullptr && error->is_string()) return std::string(error->get_string());  // Ollama's form
  if (error == nullptr || !error->is_object()) return std::nullopt;
  const json::value* message = error->get_object().if_contains("message");
  if (message == nullptr || !message->is_string()) return "the server reported an error without a message";
  return std::string(message->get_string());
}

tl::unexpected<Error> FromResponse(const net::ClientResponse& response) {
  boost::system::error_code error;
  const json::value value = json::parse(response.body, error);
  const auto message = error ? std::nullopt : ErrorMessage(value);
  const ErrorCode code = response.status == 503 ? ErrorCode::kUnavailable : ErrorCode::kInvalidArgument;
  if (message) return Fail(code, "the server says ({}): {}", response.status, *message);
  return Fail(code, "the server answered with status {} and no message", response.status);
}

Result<json::value> ReadJson(const Result<net::ClientResponse>& response, const std::string& target) {
  if (!response) return Forward(response);
  if (response->status != 200) return FromResponse(*response);
  if (response->body.empty()) return json::value();
  boost::system::error_code error;
  json::value out = json::parse(response->body, error);
  if (error) return Fail(ErrorCode::kDataLoss, "{} answered something that is not JSON; is it InferFlux?", target);
  return out;
}

std::vector<net::Header> Headers(const std::string& api_key) {
  if (api_key.empty()) return {};
  return {{"Authorization", "Bearer " + api_key}};
}

}  // namespace

// RFC 3986, section 2.3: only the unreserved characters stay.
std::string PathSegment(std::string_view text) {
  constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Result<ApiClient> ApiClient::Create(const config::Settings& settings) {
  auto address = net::ParseServerAddress(settings.Text("client.url"));
  if (!address) return Forward(address);
  return ApiClient(std::move(*address), settings.Text("client.api_key"));
}

ApiClient::ApiClient(net::ServerAddress address, std::string api_key)
    : http_(std::move(address)), api_key_(std::move(api_key)) {}

Result<net::ClientResponse> ApiClient::GetRaw(const std::string& target) {
  return http_.Send({.target = target, .headers = Headers(api_key_)});
}

Status ApiClient::CheckAnswers() {
  const auto answer = GetRaw("/livez");  // a 404 of another server is an answer too
  if (!answer) return Forward(answer);
  return {};
}

Result<json::value> ApiClient::Get(const std::string& target) { return ReadJson(GetRaw(target), target); }

Result<json::value> ApiClient::Change(const std::string& method, const std::string& target, json::object body) {
  return ReadJson(http_.Send({.method = method,
                              .target = target,
                              .headers = Headers(api_key_),
                              .body = body.empty() ? std::string() : json::serialize(body)}),
                  target);
}

Status ApiClient::Stream(const std::string& target, json::object body,
                         FunctionRef<void(const json::object&)> on_chunk) {
  body["stream"] = true;
  net::SseParser parser;
  Status status;
  bool done = false;
  const auto take_event = [&](const net::SseParser::Event& event) {
    if (event.data == "[DONE]") {
      done = true;
      return;
    }
    boost::system::error_code error;
    const json::value chunk = json::parse(event.data, error);
    if (!status || error || !chunk.is_object()) return;
    if (const auto message = ErrorMessage(chunk)) {
      status = Fail(ErrorCode::kInternal, "the server says: {}", *message);
    } else {
      on_chunk(chunk.get_object());
    }
  };
  const auto take_bytes = [&](std::string_view bytes) {
    if (Status fed = parser.Feed(bytes, take_event); !fed && status) status = fed;
  };
  const auto response = http_.Stream(
      {.method = "POST", .target = target, .headers = Headers(api_key_), .body = json::serialize(body)}, take_bytes);
  if (!response) return Forward(response);
  if (response->status != 200) return FromResponse(*response);
  if (status && !done) return Fail(ErrorCode::kUnavailable, "the server ended the answer in the middle");
  return status;
}

}  // namespace inferflux::apps
