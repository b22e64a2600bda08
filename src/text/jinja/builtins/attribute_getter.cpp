#include "text/jinja/builtins/attribute_getter.h"

#include <algorithm>
#include <charconv>

#include "text/jinja/builtins/strings.h"
#include "text/jinja/evaluate/access.h"

namespace inferflux::text::jinja {
namespace {

// Calls visit(begin, end) for each part of `text` between `separator`s.
template <class Visit>
void ForEachPart(std::string_view text, char separator, Visit&& visit) {
  for (size_t begin = 0;;) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    visit(begin, end);
    if (end == text.size()) return;
    begin = end + 1;
  }
}

Value MakePart(Runtime& rt, const Str& str, size_t begin, size_t end) {
  const std::string_view part = str.view().substr(begin, end - begin);
  int64_t index = 0;
  const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool is_index =
      !part.empty() && part[0] != '-' && parsed.ec == std::errc() && parsed.ptr == part.data() + part.size();
  return is_index ? Value::Int(index) : MakeSlice(rt, str, begin, end);
}

}  // namespace

AttributeGetter::AttributeGetter(Runtime& rt, const Value* attribute, const Value* fallback) {
  if (fallback != nullptr && !fallback->IsNone()) fallback_ = *fallback;
  if (attribute == nullptr || attribute->IsNone()) return;
  const Str* path = attribute->AsStr();
  if (path == nullptr) {
    parts_.push_back(*attribute);
    return;
  }
  ForEachPart(path->view(), '.', [&](size_t begin, size_t end) { parts_.push_back(MakePart(rt, *path, begin, end)); });
}

Value AttributeGetter::Get(Runtime& rt, Value item) const {
  rt.meter().Step();
  for (const Value& part : parts_) {
    item = GetItem(rt, item, part);
    if (fallback_ && item.IsUndefined()) item = *fallback_;
  }
  return item;
}

std::vector<AttributeGetter> MakeGetters(Runtime& rt, const Value* attribute) {
  std::vector<AttributeGetter> getters;
  const Str* paths = attribute != nullptr ? attribute->AsStr() : nullptr;
  if (paths == nullptr) {
    getters.emplace_back(rt, attribute);
    return getters;
  }
  ForEachPart(paths->view(), ',', [&](size_t begin, size_t end) {
    const Value path = MakeSlice(rt, *paths, begin, end);
    getters.emplace_back(rt, &path);
  });
  return getters;
}

Value FoldCase(Runtime& rt, const Value& value, bool case_sensitive) {
  const Str* str = value.AsStr();
  return case_sensitive || str == nullptr ? value : MapCase(rt, *str, CaseMap::kLower, CaseMap::kLower);
}

}  // namespace inferflux::text::jinja
