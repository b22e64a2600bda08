#include "base/json/json_scan.h"

#include <boost/json/basic_parser_impl.hpp>
#include <unordered_set>
#include <utility>
#include <vector>

namespace inferflux {
namespace {

namespace json = boost::json;

// Keeps the names of the objects that are open, and no values.
struct ScanHandler {
  static constexpr size_t max_object_size = static_cast<size_t>(-1);
  static constexpr size_t max_array_size = static_cast<size_t>(-1);
  static constexpr size_t max_key_size = static_cast<size_t>(-1);
  static constexpr size_t max_string_size = static_cast<size_t>(-1);
  using Code = boost::system::error_code;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code& error) {
    open.emplace_back();
    return Count(error);
  }
  bool on_object_end(size_t, Code&) {
    open.pop_back();
    return true;
  }
  bool on_array_begin(Code& error) { return Count(error); }
  bool on_array_end(size_t, Code&) { return true; }
  bool on_key_part(json::string_view part, size_t, Code&) {
    name.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, size_t, Code& error) {
    name.append(part.data(), part.size());
    if (!open.back().insert(name).second) {
      found.repeated = std::exchange(name, {});
      error = json::error::syntax;  // ends the parse
      return false;
    }
    name.clear();
    return Count(error);
  }
  bool on_string_part(json::string_view, size_t, Code&) { return true; }
  bool on_string(json::string_view, size_t, Code& error) { return Count(error); }
  bool on_number_part(json::string_view, Code&) { return true; }
  bool on_int64(int64_t, json::string_view, Code& error) { return Count(error); }
  bool on_uint64(uint64_t, json::string_view, Code& error) { return Count(error); }
  bool on_double(double, json::string_view, Code& error) { return Count(error); }
  bool on_bool(bool, Code& error) { return Count(error); }
  bool on_null(Code& error) { return Count(error); }
  bool on_comment_part(json::string_view, Code&) { return true; }
  bool on_comment(json::string_view, Code&) { return true; }

  bool Count(Code& error) {
    if (++values <= most_values) return true;
    found.too_many_values = true;
    error = json::error::syntax;  // ends the parse
    return false;
  }

  const size_t most_values;
  size_t values = 0;
  std::vector<std::unordered_set<std::string>> open = {};
  std::string name = {};
  JsonScan found = {};
};

}  // namespace

JsonScan ScanJson(std::string_view json, size_t max_depth) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<ScanHandler> parser(options, ScanHandler{.most_values = MostJsonValues(json.size())});
  boost::system::error_code error;
  parser.write_some(false, json.data(), json.size(), error);
  return std::move(parser.handler().found);
}

}  // namespace inferflux
