#include "text/jinja/builtins/strings.h"

#include <algorithm>

#include "text/jinja/format/html.h"
#include "text/jinja/value/text_search.h"
#include "text/jinja/value/traced_chars.h"

namespace inferflux::text::jinja {
namespace {

bool HasChar(std::string_view chars, std::string_view character) {
  return chars.find(character) != std::string_view::npos;
}

}  // namespace

std::pair<size_t, size_t> StripBounds(std::string_view text, const std::string_view* chars, Side side) {
  const auto strips = [&](size_t byte) {
    const CodePoint c = DecodeAt(text, byte);
    return chars != nullptr ? HasChar(*chars, text.substr(byte, c.size)) : IsSpace(c.value);
  };
  size_t begin = 0;
  size_t end = text.size();
  while (side != Side::kRight && begin < end && strips(begin)) begin += DecodeAt(text, begin).size;
  while (side != Side::kLeft && end > begin && strips(PreviousChar(text, end))) end = PreviousChar(text, end);
  return {begin, end};
}

Value Strip(Runtime& rt, const Str& str, const Str* chars, Side side) {
  std::string_view set;
  if (chars != nullptr) set = chars->view();
  rt.meter().Step((str.view().size() / 32 + 1) * (set.size() / 32 + 1));
  const auto [begin, end] = StripBounds(str.view(), chars != nullptr ? &set : nullptr, side);
  return MakeSlice(rt, str, begin, end);
}

Value MapCase(Runtime& rt, const Str& str, CaseMap first, CaseMap rest) {
  TextBuilder out(rt);
  rt.meter().Step(str.chars() / 4);
  std::string mapped;
  ForEachChar(str.text(), [&](size_t byte, CodePoint, bool trusted) {
    mapped.clear();
    AppendMapped(mapped, str.view(), byte, byte == 0 ? first : rest);
    out.Append(mapped, trusted);
  });
  return MakeStr(rt, out, str.markup);
}

Value Replace(Runtime& rt, const Str& str, const Str& old, const Str& by, int64_t count) {
  const std::string_view text = str.view();
  TextBuilder out(rt);
  rt.meter().Step(text.size() / 32);
  size_t done = 0;
  if (old.view().empty()) {  // before every character and at the end
    for (size_t byte = 0; count != 0; --count) {
      out.Append(by.text());
      if (byte == text.size()) break;
      const size_t size = DecodeAt(text, byte).size;
      out.AppendSlice(str.text(), byte, byte + size);
      rt.meter().Step();
      done = byte += size;
    }
  } else {
    for (size_t at = FindText(text, old.view()); at != std::string_view::npos && count != 0; --count) {
      out.AppendSlice(str.text(), done, at);
      out.Append(by.text());
      rt.meter().Step();
      done = at + old.view().size();
      at = FindText(text, old.view(), done);
    }
    if (done == 0) return str;
  }
  out.AppendSlice(str.text(), done, text.size());
  return MakeStr(rt, out, str.markup);
}

Value Pad(Runtime& rt, const Str& str, int64_t width, const Str* fill, Side text_side) {
  if (fill != nullptr && fill->chars() != 1) Raise("the fill character must be exactly one character long");
  const auto chars = static_cast<int64_t>(str.chars());
  if (width <= chars) return str;
  const int64_t padding = width - chars;
  int64_t before = text_side == Side::kRight ? padding : 0;
  if (text_side == Side::kBoth) before = padding / 2 + (padding & width & 1);
  const std::string_view filler = fill != nullptr ? fill->view() : " ";
  const bool trusted = fill != nullptr && fill->text().AllTrusted();
  TextBuilder out(rt);
  out.Repeat(filler, before, trusted);
  out.Append(str.text());
  out.Repeat(filler, padding - before, trusted);
  return MakeStr(rt, out, str.markup);
}

std::vector<std::pair<size_t, size_t>> SplitWords(std::string_view text, int64_t max_splits) {
  std::vector<std::pair<size_t, size_t>> words;
  size_t byte = 0;
  while (true) {
    while (byte < text.size() && IsSpace(DecodeAt(text, byte).value)) byte += DecodeAt(text, byte).size;
    if (byte == text.size()) return words;
    const size_t begin = byte;
    if (max_splits >= 0 && static_cast<int64_t>(words.size()) == max_splits) {
      words.emplace_back(begin, text.size());
      return words;
    }
    while (byte < text.size() && !IsSpace(DecodeAt(text, byte).value)) byte += DecodeAt(text, byte).size;
    words.emplace_back(begin, byte);
  }
}

std::vector<std::pair<size_t, size_t>> SplitLines(std::string_view text, bool keep_ends) {
  std::vector<std::pair<size_t, size_t>> lines;
  size_t begin = 0;
  for (size_t byte = 0; byte < text.size();) {
    const CodePoint c = DecodeAt(text, byte);
    size_t next = byte + c.size;
    if (IsLineBreak(c.value)) {
      if (c.value == '\r' && next < text.size() && text[next] == '\n') ++next;
      lines.emplace_back(begin, keep_ends ? next : byte);
      begin = next;
    }
    byte = next;
  }
  if (begin < text.size()) lines.emplace_back(begin, text.size());
  return lines;
}

Value Join(Runtime& rt, const Str& separator, const std::vector<Value>& items) {
  TextBuilder out(rt);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.Append(separator.text());
    if (separator.markup) {
      out.Append(Escape(rt, items[i]).text());
      continue;
    }
    const Str* str = items[i].AsStr();
    if (str == nullptr) Raise("sequence item {}: expected str instance, {} found", i, items[i].TypeName());
    out.Append(str->text());
  }
  return MakeStr(rt, out, separator.markup);
}

}  // namespace inferflux::text::jinja
