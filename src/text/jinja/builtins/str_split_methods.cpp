#include <algorithm>

#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/builtins/strings.h"
#include "text/jinja/value/text_search.h"

namespace inferflux::text::jinja {
namespace {

using Ranges = std::vector<std::pair<size_t, size_t>>;

Value MakeParts(Runtime& rt, const Str& str, const Ranges& ranges) {
  rt.meter().Step(str.view().size() / 32 + ranges.size());
  std::vector<Value> parts;
  parts.reserve(ranges.size());
  for (const auto& [begin, end] : ranges) parts.push_back(MakeSlice(rt, str, begin, end));
  return MakeList(rt, std::move(parts));
}

void RequireSeparator(std::string_view separator) {
  if (separator.empty()) Raise("empty separator");
}

Ranges SplitAt(std::string_view text, std::string_view separator, int64_t max_splits) {
  RequireSeparator(separator);
  Ranges out;
  size_t begin = 0;
  for (size_t at = FindText(text, separator); at != std::string_view::npos && max_splits != 0; --max_splits) {
    out.emplace_back(begin, at);
    begin = at + separator.size();
    at = FindText(text, separator, begin);
  }
  out.emplace_back(begin, text.size());
  return out;
}

Ranges SplitAtFromRight(std::string_view text, std::string_view separator, int64_t max_splits) {
  RequireSeparator(separator);
  Ranges out;
  size_t end = text.size();
  for (; max_splits != 0 && end >= separator.size(); --max_splits) {
    const size_t at = RFindText(text.substr(0, end), separator);
    if (at == std::string_view::npos) break;
    out.emplace_back(at + separator.size(), end);
    end = at;
  }
  out.emplace_back(0, end);
  std::reverse(out.begin(), out.end());
  return out;
}

Ranges SplitWordsFromRight(std::string_view text, int64_t max_splits) {
  Ranges words = SplitWords(text, -1);
  if (max_splits < 0 || words.size() <= static_cast<size_t>(max_splits)) return words;
  // The rest after the last split stays one piece, without its trailing whitespace.
  const size_t kept = words.size() - static_cast<size_t>(max_splits);
  Ranges out = {{0, words[kept - 1].second}};
  out.insert(out.end(), words.begin() + static_cast<ptrdiff_t>(kept), words.end());
  return out;
}

Value Split(Runtime& rt, const Value& self, const Arguments& args) {
  const Str& str = *self.AsStr();
  const Str* separator = args.OptionalText(0);
  const int64_t max_splits = args.Int(1, -1);
  return MakeParts(
      rt, str,
      separator != nullptr ? SplitAt(str.view(), separator->view(), max_splits) : SplitWords(str.view(), max_splits));
}

Value RSplit(Runtime& rt, const Value& self, const Arguments& args) {
  const Str& str = *self.AsStr();
  const Str* separator = args.OptionalText(0);
  const int64_t max_splits = args.Int(1, -1);
  return MakeParts(rt, str,
                   separator != nullptr ? SplitAtFromRight(str.view(), separator->view(), max_splits)
                                        : SplitWordsFromRight(str.view(), max_splits));
}

Value SplitLinesMethod(Runtime& rt, const Value& self, const Arguments& args) {
  const Str& str = *self.AsStr();
  return MakeParts(rt, str, SplitLines(str.view(), args.Bool(rt, 0, false)));
}

template <bool from_right>
Value Partition(Runtime& rt, const Value& self, const Arguments& args) {
  const Str& str = *self.AsStr();
  const std::string_view separator = args.Text(0).view();
  RequireSeparator(separator);
  rt.meter().Step(str.view().size() / 32);
  const size_t size = str.view().size();
  const size_t at = from_right ? RFindText(str.view(), separator) : FindText(str.view(), separator);
  const auto slice = [&](size_t begin, size_t end) { return MakeSlice(rt, str, begin, end); };
  if (at != std::string_view::npos) {
    return MakeTuple(rt, {slice(0, at), slice(at, at + separator.size()), slice(at + separator.size(), size)});
  }
  if (from_right) return MakeTuple(rt, {slice(0, 0), slice(0, 0), self});
  return MakeTuple(rt, {self, slice(0, 0), slice(0, 0)});
}

template <Side side>
Value StripMethod(Runtime& rt, const Value& self, const Arguments& args) {
  return Strip(rt, *self.AsStr(), args.OptionalText(0), side);
}

Value RemovePrefix(Runtime& rt, const Value& self, const Arguments& args) {
  const Str& str = *self.AsStr();
  const std::string_view prefix = args.Text(0).view();
  return str.view().starts_with(prefix) ? MakeSlice(rt, str, prefix.size(), str.view().size()) : self;
}

Value RemoveSuffix(Runtime& rt, const Value& self, const Arguments& args) {
  const Str& str = *self.AsStr();
  const std::string_view suffix = args.Text(0).view();
  return str.view().ends_with(suffix) ? MakeSlice(rt, str, 0, str.view().size() - suffix.size()) : self;
}

constexpr Builtin kStrSplitMethods[] = {
    {"split", {"sep", "maxsplit"}, 0, &Split},           {"rsplit", {"sep", "maxsplit"}, 0, &RSplit},
    {"splitlines", {"keepends"}, 0, &SplitLinesMethod},  {"partition", {"sep"}, 1, &Partition<false>},
    {"rpartition", {"sep"}, 1, &Partition<true>},        {"strip", {"chars"}, 0, &StripMethod<Side::kBoth>},
    {"lstrip", {"chars"}, 0, &StripMethod<Side::kLeft>}, {"rstrip", {"chars"}, 0, &StripMethod<Side::kRight>},
    {"removeprefix", {"prefix"}, 1, &RemovePrefix},      {"removesuffix", {"suffix"}, 1, &RemoveSuffix},
};

}  // namespace

std::span<const Builtin> StrSplitMethods() { return kStrSplitMethods; }

}  // namespace inferflux::text::jinja
