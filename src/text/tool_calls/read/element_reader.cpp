#include "text/tool_calls/read/element_reader.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "text/tool_calls/argument_schema.h"
#include "text/tool_calls/call_object.h"
#include "text/tool_calls/marker.h"

namespace inferflux::text {
namespace json = boost::json;
namespace {

constexpr size_t kMaxElementName = 1024;
constexpr std::string_view kItem = "item";

bool IsBlank(std::string_view text) { return SkipSpace(text, 0) == text.size(); }

}  // namespace

void ElementReader::Reset() {
  open_.assign(1, {});
  searched_ = 0;
}

ElementReader::Step ElementReader::Read(std::string_view text, size_t& at) {
  for (;;) {
    const size_t mark = text.find(mark_, std::max(at, searched_));
    Element& innermost = open_.back();
    const bool leaf = open_.size() > 1 && innermost.children.empty();  // only these may contain text
    if (mark == std::string_view::npos) {
      searched_ = std::max(at, text.size() - std::min(text.size(), mark_.size() - 1));
      return leaf || IsBlank(text.substr(at, searched_ - at)) ? Step::kWait : Step::kMisfit;
    }
    const size_t begin = mark + mark_.size();
    if (begin == text.size()) return Step::kWait;
    if (text[begin] != '<') return Step::kMisfit;
    const std::string_view content = text.substr(at, mark - at);
    if (!leaf && !IsBlank(content)) return Step::kMisfit;
    if (begin + 1 == text.size()) return Step::kWait;
    const bool closes = text[begin + 1] == '/';
    if (closes && open_.size() == 1) {
      at = mark;
      return Step::kDone;
    }
    const size_t end = text.find('>', begin);
    if (std::min(end, text.size()) - begin > kMaxElementName) return Step::kMisfit;
    if (end == std::string_view::npos) return Step::kWait;
    if (closes) {
      if (leaf) innermost.text = content;
      Element whole = std::move(innermost);
      open_.pop_back();
      open_.back().children.push_back(std::move(whole));
    } else {
      const std::string_view name = text.substr(begin + 1, end - begin - 1);
      const bool named = !name.empty() && name.find_first_of("<> \t\r\n\"/") == std::string_view::npos;
      if (!named || !IsBlank(content) || open_.size() > kMaxReadDepth) return Step::kMisfit;
      open_.push_back({.name = std::string(name), .text = {}, .children = {}});
    }
    at = end + 1;
  }
}

json::object ElementReader::Release(const json::value& parameters) const {
  return MembersOf(open_[0], &parameters, parameters);
}

json::object ElementReader::MembersOf(const Element& element, const json::value* schema,
                                      const json::value& parameters) {
  json::object out;
  for (const Element& child : element.children) {
    out[child.name] = ValueOf(child, SchemaOfMember(parameters, schema, child.name), parameters);
  }
  return out;
}

json::value ElementReader::ValueOf(const Element& element, const json::value* schema, const json::value& parameters) {
  const bool may_be_null = AllowsType(schema, "null");
  schema = BesideNull(parameters, schema);
  const bool may_be_list = AllowsType(schema, "array"), may_be_object = AllowsType(schema, "object");
  if (element.children.empty()) {
    if (may_be_null && TaggedValue(element.text, nullptr).is_null()) return nullptr;
    if (!element.text.empty() || AllowsType(schema, "string")) return TaggedValue(element.text, schema);
    if (may_be_list) return json::array();
    return may_be_object ? json::value(json::object()) : json::value(element.text);
  }
  const bool items = std::ranges::all_of(element.children, [](const Element& child) { return child.name == kItem; });
  if (!may_be_list || (may_be_object && !items)) return MembersOf(element, schema, parameters);
  json::array out;
  for (const Element& child : element.children) {
    out.push_back(ValueOf(child, SchemaOfItems(parameters, schema), parameters));
  }
  return out;
}

}  // namespace inferflux::text
