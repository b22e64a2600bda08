// The server's API, for the commands.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/function_ref.h"
#include "base/result.h"
#include "config/settings.h"
#include "net/client.h"

namespace inferflux::apps {

// `text` as one segment of a request's path.
std::string PathSegment(std::string_view text);

class ApiClient {
 public:
  // The server at client.url, with client.api_key.
  static Result<ApiClient> Create(const config::Settings& settings);
  ApiClient(net::ServerAddress address, std::string api_key);

  // The response's JSON; an error of the API becomes an Error with its message.
  Result<boost::json::value> Get(const std::string& target);
  // Sends `body` with another method, such as PUT and DELETE; an empty body is not sent.
  Result<boost::json::value> Change(const std::string& method, const std::string& target, boost::json::object body);
  Result<boost::json::value> Post(const std::string& target, boost::json::object body) {
    return Change("POST", target, std::move(body));
  }
  // Whether anything answers at the address; otherwise why not, kUnavailable.
  Status CheckAnswers();
  // The raw answer, whatever its status.
  Result<net::ClientResponse> GetRaw(const std::string& target);
  // Posts `body` with "stream": true and passes on each chunk. kCancelled if should_stop returned true. An error chunk,
  // or a stream that ends without [DONE], is an error.
  Status Stream(const std::string& target, boost::json::object body,
                FunctionRef<void(const boost::json::object& chunk)> on_chunk);

  net::Client& http() { return http_; }

 private:
  net::Client http_;
  std::string api_key_;
};

}  // namespace inferflux::apps
