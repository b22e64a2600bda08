#include "server/request/json_body.h"

#include <boost/json/parse_options.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>

#include "base/json/json_scan.h"

namespace inferflux::server {
namespace json = boost::json;

ApiResult<json::object> ParseJsonBody(std::string_view body) {
  if (body.empty()) return RefuseAs("invalid_json", "", "the request has no body; a JSON object is needed");
  // Before the values are built.
  const JsonScan scan = ScanJson(body, kMaxJsonDepth);
  if (scan.repeated) {
    return RefuseAs("invalid_json", "",
                    fmt::format("the JSON has the name \"{}\" twice in one object", scan.repeated->substr(0, 64)));
  }
  if (scan.too_many_values) {
    return RefuseAs("invalid_json", "",
                    fmt::format("the JSON has more than {} values and names, which is the limit for its {} bytes: send "
                                "fewer of them in one request",
                                MostJsonValues(body.size()), body.size()));
  }
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::stream_parser parser({}, options);
  boost::system::error_code error;
  const size_t parsed = parser.write_some(body, error);
  if (!error && parsed == body.size()) parser.finish(error);
  if (error == json::error::too_deep) {
    return RefuseAs("invalid_json", "",
                    fmt::format("the JSON is nested deeper than the limit of {} levels", kMaxJsonDepth));
  }
  if (error || parsed != body.size()) {
    const std::string what = error ? error.message() : "extra data";
    return RefuseAs("invalid_json", "", fmt::format("the body is not valid JSON: {} near byte {}", what, parsed));
  }
  json::value value = parser.release();
  if (!value.is_object()) return RefuseAs("invalid_json", "", "the body must be a JSON object");
  return std::move(value.as_object());
}

}  // namespace inferflux::server
