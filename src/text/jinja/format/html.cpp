#include "text/jinja/format/html.h"

#include "text/jinja/format/printing.h"
#include "text/jinja/value/traced_chars.h"

namespace inferflux::text::jinja {

void AppendEscaped(TextBuilder& out, const TracedText& text) {
  size_t pending = 0;
  ForEachChar(text, [&](size_t byte, CodePoint c, bool trusted) {
    std::string_view entity;
    switch (c.value) {
      case '&':
        entity = "&amp;";
        break;
      case '<':
        entity = "&lt;";
        break;
      case '>':
        entity = "&gt;";
        break;
      case '"':
        entity = "&#34;";
        break;
      case '\'':
        entity = "&#39;";
        break;
      default:
        return;
    }
    out.AppendSlice(text, pending, byte);
    out.Append(entity, trusted);
    pending = byte + 1;
  });
  out.AppendSlice(text, pending, text.size());
}

Str Escape(Runtime& rt, const Value& value) {
  const Str str = SoftStr(rt, value);
  if (str.markup) return str;
  TextBuilder out(rt);
  AppendEscaped(out, str.text());
  return *MakeStr(rt, out, true).AsStr();
}

}  // namespace inferflux::text::jinja
