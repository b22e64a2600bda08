#include "text/grammar/json_schema/sort_properties.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferflux::text {
namespace json = boost::json;
namespace {

std::string Lowered(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

}  // namespace

void SortProperties(json::value& schema) {
  if (json::array* items = schema.if_array()) {
    for (json::value& item : *items) SortProperties(item);
  }
  json::object* members = schema.if_object();
  if (members == nullptr) return;
  for (auto& [key, value] : *members) {
    SortProperties(value);
    if (key != "properties" || !value.is_object()) continue;
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto& [name, ignored] : value.get_object()) names.emplace_back(Lowered(name), name);
    std::ranges::sort(names);
    json::object sorted;
    for (const auto& [lowered, name] : names) sorted[name] = std::move(value.get_object()[name]);
    value = std::move(sorted);
  }
}

}  // namespace inferflux::text
