// Finds the handler for a method and a path.
#pragma once

#include <functional>
#include <map>
#include <optional>
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
  // `check` sees the head of a request that has a body, before the body is read; its response refuses the request. It
  // may attach an allowance for the body.
  using HeadCheck = std::function<std::optional<Response>(Request& head)>;
  void Add(std::string method, std::string_view pattern, Handler handler, HeadCheck check = {});

  struct Match {
    const Handler* handler = nullptr;  // null: no such path, or `allow` lists the methods that it accepts
    const HeadCheck* check = nullptr;
    std::string_view pattern;  // as it was added; metrics use it because its variety is bounded
    std::string allow;         // "GET, HEAD" if only the method is wrong
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
    HeadCheck check;
  };
  std::vector<Route> routes_;
};

// "/v1/models/a%2Fb?x=1" -> path "/v1/models/a/b", segments {"v1", "models", "a/b"}, query {x: 1}. The absolute
// form, http://host/path, gives the same. An error if the target has neither form.
struct Target {
  std::string path;
  std::vector<std::string> segments;
  std::map<std::string, std::string> query;
};
Result<Target> ParseTarget(std::string_view target);

}  // namespace inferflux::net
