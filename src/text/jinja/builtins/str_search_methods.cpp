#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/evaluate/access.h"
#include "text/jinja/value/python_characters.h"
#include "text/jinja/value/text_search.h"

namespace inferflux::text::jinja {
namespace {

std::optional<int64_t> Bound(const Arguments& args, size_t index) {
  const Value* value = args.Optional(index);
  return value != nullptr ? std::optional(ToInt(*value)) : std::nullopt;
}

// The part of a str selected by the optional arguments `start` and `end` (in characters).
struct Window {
  Window(const Str& str, const Arguments& args, size_t start_index) {
    const auto start = Bound(args, start_index);
    const auto end = Bound(args, start_index + 1);
    const auto bounds = ResolveSlice(start, end, 1, str.chars());
    // In Python, not even an empty text is found in a window that starts beyond the end, or after its own end.
    const auto chars = static_cast<int64_t>(str.chars());
    const auto end_bounds = ResolveSlice(end, std::nullopt, 1, str.chars());
    valid = (!start || *start <= chars) && (!end || bounds.start <= end_bounds.start);
    begin_byte = ByteOfChar(str.view(), str.chars(), static_cast<size_t>(bounds.start));
    const size_t end_char = static_cast<size_t>(bounds.start) + bounds.count;
    text = str.view().substr(begin_byte, ByteOfChar(str.view(), str.chars(), end_char) - begin_byte);
  }

  bool valid;
  size_t begin_byte;
  std::string_view text;
};

template <bool from_right>
std::optional<int64_t> Locate(Runtime& rt, const Str& str, const Arguments& args) {
  const std::string_view needle = args.Text(0).view();
  rt.meter().Step(str.view().size() / 32);
  const Window window(str, args, 1);
  if (!window.valid) return std::nullopt;
  const size_t at = from_right ? RFindText(window.text, needle) : FindText(window.text, needle);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<int64_t>(CountChars(str.view().substr(0, window.begin_byte + at)));
}

template <bool from_right>
Value Find(Runtime& rt, const Value& self, const Arguments& args) {
  return Value::Int(Locate<from_right>(rt, *self.AsStr(), args).value_or(-1));
}

template <bool from_right>
Value Index(Runtime& rt, const Value& self, const Arguments& args) {
  const auto at = Locate<from_right>(rt, *self.AsStr(), args);
  if (!at) Raise("substring not found");
  return Value::Int(*at);
}

Value CountText(Runtime& rt, const Value& self, const Arguments& args) {
  const std::string_view needle = args.Text(0).view();
  rt.meter().Step(self.AsStr()->view().size() / 32);
  const Window window(*self.AsStr(), args, 1);
  if (!window.valid) return Value::Int(0);
  if (needle.empty()) return Value::Int(static_cast<int64_t>(CountChars(window.text)) + 1);
  int64_t count = 0;
  for (size_t at = FindText(window.text, needle); at != std::string_view::npos; ++count) {
    at = FindText(window.text, needle, at + needle.size());
  }
  return Value::Int(count);
}

template <bool at_end>
bool Matches(const Window& window, const Value& affix) {
  const Str* text = affix.AsStr();
  if (text == nullptr) Raise("{} first arg must be str or a tuple of str", at_end ? "endswith" : "startswith");
  if (!window.valid) return false;
  return at_end ? window.text.ends_with(text->view()) : window.text.starts_with(text->view());
}

template <bool at_end>
Value HasAffix(Runtime& rt, const Value& self, const Arguments& args) {
  rt.meter().Step();
  const Window window(*self.AsStr(), args, 1);
  if (const ListData* tuple = args.At(0).AsTuple()) {
    rt.meter().Step(tuple->items.size());
    for (const Value& affix : tuple->items) {
      if (Matches<at_end>(window, affix)) return Value::Bool(true);
    }
    return Value::Bool(false);
  }
  return Value::Bool(Matches<at_end>(window, args.At(0)));
}

constexpr Builtin kStrSearchMethods[] = {
    {"find", {"sub", "start", "end"}, 1, &Find<false>},
    {"rfind", {"sub", "start", "end"}, 1, &Find<true>},
    {"index", {"sub", "start", "end"}, 1, &Index<false>},
    {"rindex", {"sub", "start", "end"}, 1, &Index<true>},
    {"count", {"sub", "start", "end"}, 1, &CountText},
    {"startswith", {"prefix", "start", "end"}, 1, &HasAffix<false>},
    {"endswith", {"suffix", "start", "end"}, 1, &HasAffix<true>},
};

}  // namespace

std::span<const Builtin> StrSearchMethods() { return kStrSearchMethods; }

}  // namespace inferflux::text::jinja
