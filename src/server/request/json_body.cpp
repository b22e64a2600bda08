#include "server/request/json_body.h"

#include <boost/json/parse_options.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>

#include "server/request/duplicate_names.h"

namespace inferflux::server {
namespace json = boost::json;

ApiResult<json::object> ParseJsonBody(std::string_view body) {
  if (body.empty()) return RefuseAs("invalid_json", "", "the request has no body; a JSON object is needed");
  // Before the values are built: an object of a million equal names takes much memory, and is refused anyway.
  if (const auto repeated = DuplicateName(body, kMaxJsonDepth)) {
    return RefuseAs("invalid_json", "",
                    fmt::format("the JSON has the name \"{}\" twice in one object", repeated->substr(0, 64)));
  }
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::stream_parser parser({}, options);
  boost::system::error_code error;
  const size_t parsed = parser.write_some(body, error);
  if (!error) parser.finish(error);
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
