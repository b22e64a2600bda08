// Finds the handler for a method and a path.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_message.h"
#include "net/response_writer.h"

namespace inferflux::net {

class Router {
 public:
  // `pattern` is a path whose segments may be {name} (one segment) or, at the end, {name...} (one or more segments).
  // Patterns are tried in the order in which they were added.
  void Add(std::string method, std::string_view pattern, Handler handler);

  struct Match {
    const Handler* handler = nullptr;  // null: no such path, or `allow` lists the methods that it accepts
    std::string_view pattern;          // as it was added; metrics use it because its variety is bounded
    std::string allow;                 // "GET, HEAD" if only the method is wrong
    std::map<std::string, std::string> parameters;
  };
  // A HEAD request matches a GET route; the server omits the body.
  Match Find(std::string_view method, const std::vector<std::string>& segments) const;

 private:
  struct Route {
    std::string method;
    std::string pattern;
    std::vector<std::string> segments;
    Handler handler;
  };
  std::vector<Route> routes_;
};

// "/v1/models/a%2Fb?x=1" -> path "/v1/models/a/b", segments {"v1", "models", "a/b"}, query {x: 1}. An error if the
// target is not a valid origin form.
struct Target {
  std::string path;
  std::vector<std::string> segments;
  std::map<std::string, std::string> query;
};
Result<Target> ParseTarget(std::string_view target);

}  // namespace inferflux::net
