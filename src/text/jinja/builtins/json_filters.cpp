#include "text/jinja/builtins/builtin_tables.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/value/iterate.h"
#include "text/jinja/value/json.h"

namespace inferflux::text::jinja {
namespace {

TracedText Separator(const Value& value) {
  const Str* str = value.AsStr();
  if (str == nullptr) Raise("a separator must be str, not {}", value.TypeName());
  return str->text();
}

// json.dumps without HTML escapes, which transformers gives its templates instead of Jinja2's own filter.
Value ToJson(Runtime& rt, const Value& self, const Arguments& args) {
  JsonStyle style;
  style.ensure_ascii = args.Bool(rt, 0, false);
  if (const Value* indent = args.Optional(1)) {
    TextBuilder level(rt);
    if (const Str* str = indent->AsStr()) {
      level.Append(str->text());
    } else {
      level.Repeat(" ", ToInt(*indent), false);
    }
    style.indent = level.text().bytes();
    style.item_separator = TracedText(",", false);
  }
  if (const Value* separators = args.Optional(2)) {
    const std::vector<Value> pair = Collect(rt, *separators);
    if (pair.size() != 2) Raise("separators must be a pair");
    style.item_separator = Separator(pair[0]);
    style.key_separator = Separator(pair[1]);
  }
  style.sort_keys = args.Bool(rt, 3, false);
  TextBuilder out(rt);
  AppendJson(rt, out, self, style);
  return MakeStr(rt, out);
}

constexpr Builtin kJsonFilters[] = {
    {"tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}, 0, &ToJson},
};

}  // namespace

std::span<const Builtin> JsonFilters() { return kJsonFilters; }

}  // namespace inferflux::text::jinja
