#include "session_store/s3_store.h"

#include <string_view>
#include <utility>

namespace inferflux::session_store {
namespace {

using namespace std::chrono_literals;

// A worker can compute what a slow store would bring.
constexpr auto kConnect = 1s;
constexpr auto kSilence = 5s;

// "<Code>NoSuchBucket</Code>" of an error's XML: "NoSuchBucket". Empty if there is none.
std::string_view CodeOf(std::string_view xml) {
  const size_t begin = xml.find("<Code>");
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = xml.substr(begin + 6, 80);
  return rest.substr(0, rest.find('<'));
}

tl::unexpected<Error> Refused(std::string_view what, int status, std::string_view body) {
  return Fail(ErrorCode::kUnavailable, "the object store answers {} to {}: {}", status, what, CodeOf(body));
}

}  // namespace

S3Store::S3Store(S3Settings settings) : settings_(std::move(settings)), client_(settings_.endpoint) {
  client_.connect_timeout = kConnect;
  client_.silence_timeout = kSilence;
}

net::ClientRequest S3Store::Request(std::string method, const std::string& name, std::string body) const {
  const net::ServerAddress& to = settings_.endpoint;
  net::ClientRequest out{.method = std::move(method),
                         .target = fmt::format("/{}/{}{}", settings_.bucket, settings_.prefix, name),
                         .body = std::move(body)};
  const std::string path = to.base_path + out.target;
  const std::string host = fmt::format("{}:{}", to.host, to.port);  // as the client writes it
  out.headers = SignS3({.method = out.method, .host = host, .path = path, .body = out.body}, settings_.credentials,
                       settings_.region, std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  if (!out.body.empty()) out.headers.push_back({"content-type", "application/octet-stream"});
  return out;
}

Status S3Store::Put(const std::string& name, std::string blob, scheduler::WallTime) {
  auto answer = client_.Send(Request("PUT", name, std::move(blob)));
  if (!answer) return Forward(answer);
  if (answer->status / 100 != 2) return Refused("PUT", answer->status, answer->body);
  return {};
}

Result<std::string> S3Store::Get(const std::string& name, size_t most) {
  std::string out;
  bool too_long = false;
  net::Client client = client_;  // whose should_stop is this call's own
  client.should_stop = [&] { return too_long; };
  auto answer = client.Stream(Request("GET", name, {}), [&](std::string_view piece) {
    too_long = too_long || piece.size() > most - out.size();
    if (!too_long) out += piece;
  });
  if (too_long) return Fail(ErrorCode::kDataLoss, "the object is larger than {} bytes", most);
  if (!answer) return Forward(answer);
  if (answer->status == 404 && CodeOf(answer->body) != "NoSuchBucket") {
    return Fail(ErrorCode::kNotFound, "the store has no such session");
  }
  if (answer->status != 200) return Refused("GET", answer->status, answer->body);
  return out;
}

Status S3Store::Remove(const std::string& name) {
  auto answer = client_.Send(Request("DELETE", name, {}));
  if (!answer) return Forward(answer);
  if (answer->status / 100 != 2 && answer->status != 404) return Refused("DELETE", answer->status, answer->body);
  return {};
}

}  // namespace inferflux::session_store
