#include "server/request/duplicate_names.h"

#include <boost/json/basic_parser_impl.hpp>
#include <unordered_set>
#include <utility>
#include <vector>

namespace inferflux::server {
namespace {

namespace json = boost::json;

// The names of the objects that are open. Values are not kept.
struct NameHandler {
  static constexpr size_t max_object_size = static_cast<size_t>(-1);
  static constexpr size_t max_array_size = static_cast<size_t>(-1);
  static constexpr size_t max_key_size = static_cast<size_t>(-1);
  static constexpr size_t max_string_size = static_cast<size_t>(-1);
  using Code = boost::system::error_code;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) {
    open.emplace_back();
    return true;
  }
  bool on_object_end(size_t, Code&) {
    open.pop_back();
    return true;
  }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(size_t, Code&) { return true; }
  bool on_key_part(json::string_view part, size_t, Code&) {
    name.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, size_t, Code& error) {
    name.append(part.data(), part.size());
    if (!open.back().insert(name).second) {
      repeated = std::exchange(name, {});
      error = json::error::syntax;  // ends the parse
      return false;
    }
    name.clear();
    return true;
  }
  bool on_string_part(json::string_view, size_t, Code&) { return true; }
  bool on_string(json::string_view, size_t, Code&) { return true; }
  bool on_number_part(json::string_view, Code&) { return true; }
  bool on_int64(int64_t, json::string_view, Code&) { return true; }
  bool on_uint64(uint64_t, json::string_view, Code&) { return true; }
  bool on_double(double, json::string_view, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(json::string_view, Code&) { return true; }
  bool on_comment(json::string_view, Code&) { return true; }

  std::vector<std::unordered_set<std::string>> open;
  std::string name;
  std::optional<std::string> repeated;
};

}  // namespace

std::optional<std::string> DuplicateName(std::string_view json, size_t max_depth) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<NameHandler> parser(options);
  boost::system::error_code error;
  parser.write_some(false, json.data(), json.size(), error);
  return std::move(parser.handler().repeated);
}

}  // namespace inferflux::server
