#include <algorithm>
#include <cmath>

#include "text/jinja/evaluate/operators.h"
#include "text/jinja/format/printing.h"
#include "text/jinja/value/json.h"
#include "text/jinja/value/traced_chars.h"

namespace inferflux::text::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(Runtime& rt, TextBuilder& out, const JsonStyle& style) : rt_(rt), out_(out), style_(style) {}

  void Write(const Value& value) {
    const Meter::Level level(rt_.meter());
    rt_.meter().Step();
    if (const Str* str = value.AsStr()) return WriteText(str->text());
    if (AsNumber(value) || value.IsNone()) return WriteScalar(value);
    if (const ListData* list = value.AsSequence()) return WriteList(*list);
    if (const DictData* dict = value.AsDict()) return WriteDict(*dict);
    Raise("object of type {} is not JSON serializable", value.TypeName());
  }

 private:
  void WriteScalar(const Value& value) {
    if (const auto* b = value.AsBool()) return out_.Append(b->value ? "true" : "false", b->trusted);
    if (const auto* i = value.AsInt()) return out_.Append(fmt::format("{}", i->value), i->trusted);
    if (value.IsNone()) return out_.Made("null");
    const auto& number = *value.AsFloat();
    if (std::isnan(number.value)) return out_.Append("NaN", number.trusted);
    if (std::isinf(number.value)) return out_.Append(number.value > 0 ? "Infinity" : "-Infinity", number.trusted);
    out_.Append(FloatRepr(number.value), number.trusted);
  }

  static std::string Escape(char32_t c, bool ensure_ascii) {
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\f':
        return "\\f";
      case '\b':
        return "\\b";
      default:
        break;
    }
    const auto code = static_cast<uint32_t>(c);
    if (code < 0x20 || (ensure_ascii && code > 0x7E && code < 0x10000)) return fmt::format("\\u{:04x}", code);
    if (!ensure_ascii || code <= 0x7E) return {};
    const uint32_t offset = code - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (offset >> 10), 0xDC00 + (offset & 0x3FF));
  }

  void WriteText(const TracedText& text) {
    out_.Made("\"");
    size_t pending = 0;
    ForEachChar(text, [&](size_t byte, CodePoint c, bool trusted) {
      const std::string escape = Escape(c.value, style_.ensure_ascii);
      if (escape.empty()) return;
      out_.AppendSlice(text, pending, byte);
      out_.Append(escape, trusted);
      pending = byte + c.size;
    });
    out_.AppendSlice(text, pending, text.size());
    out_.Made("\"");
  }

  void BreakLine() {
    if (!style_.indent) return;
    out_.Made("\n");
    out_.Repeat(*style_.indent, depth_, false);
  }

  void WriteList(const ListData& list) {
    if (list.items.empty()) return out_.Made("[]");
    out_.Made("[");
    ++depth_;
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_.Append(style_.item_separator);
      BreakLine();
      Write(list.items[i]);
    }
    --depth_;
    BreakLine();
    out_.Made("]");
  }

  void WriteKey(const Value& key) {
    if (const Str* str = key.AsStr()) return WriteText(str->text());
    if (!AsNumber(key) && !key.IsNone()) {
      Raise("keys must be str, int, float, bool or None, not {}", key.TypeName());
    }
    out_.Made("\"");
    WriteScalar(key);
    out_.Made("\"");
  }

  void WriteDict(const DictData& dict) {
    if (dict.entries.empty()) return out_.Made("{}");
    std::vector<size_t> order(dict.entries.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (style_.sort_keys) {
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return IsLess(rt_, dict.entries[a].first, dict.entries[b].first); });
    }
    out_.Made("{");
    ++depth_;
    for (size_t i = 0; i < order.size(); ++i) {
      const auto& [key, value] = dict.entries[order[i]];
      if (i > 0) out_.Append(style_.item_separator);
      BreakLine();
      WriteKey(key);
      out_.Append(style_.key_separator);
      Write(value);
    }
    --depth_;
    BreakLine();
    out_.Made("}");
  }

  Runtime& rt_;
  TextBuilder& out_;
  const JsonStyle& style_;
  int64_t depth_ = 0;
};

}  // namespace

void AppendJson(Runtime& rt, TextBuilder& out, const Value& value, const JsonStyle& style) {
  JsonWriter(rt, out, style).Write(value);
}

}  // namespace inferflux::text::jinja
