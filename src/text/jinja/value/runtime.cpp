#include "text/jinja/value/runtime.h"

#include "base/checked_math.h"
#include "text/jinja/value/python_characters.h"

namespace inferflux::text::jinja {

void TextBuilder::Repeat(std::string_view bytes, int64_t count, bool trusted) {
  if (count <= 0 || bytes.empty()) return;
  const auto total = CheckedMul(bytes.size(), static_cast<uint64_t>(count));
  Reserve(total.value_or(UINT64_MAX / 2));
  std::string repeated;
  repeated.reserve(*total);
  for (; count > 0; --count) repeated.append(bytes);
  out_.Append(repeated, trusted);
}

Value MakeStr(Runtime& rt, TracedText text, bool markup) {
  return Str{std::make_shared<const StrData>(&rt.meter(), std::move(text)), markup};
}

Value MakeStr(Runtime& rt, std::string_view bytes, bool trusted) {
  rt.meter().CheckRoom(bytes.size());
  return MakeStr(rt, TracedText(std::string(bytes), trusted));
}

Value MakeSlice(Runtime& rt, const Str& of, size_t begin, size_t end) {
  if (begin == 0 && end == of.view().size()) return of;
  TextBuilder out(rt);
  out.AppendSlice(of.text(), begin, end);
  return MakeStr(rt, out, of.markup);
}

Value MakeList(Runtime& rt, std::vector<Value> items, SequenceType type) {
  rt.meter().Step(items.size() / 8);
  return std::make_shared<const ListData>(&rt.meter(), type, std::move(items));
}

std::shared_ptr<DictData> NewDict(Runtime& rt) { return std::make_shared<DictData>(&rt.meter()); }

std::string Shorten(std::string_view text) {
  constexpr size_t kMaxBytes = 80;
  if (text.size() <= kMaxBytes) return std::string(text);
  return std::string(text.substr(0, PreviousChar(text, kMaxBytes + 1))) + "...";
}

}  // namespace inferflux::text::jinja
