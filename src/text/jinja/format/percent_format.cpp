#include "text/jinja/format/percent_format.h"

#include <algorithm>
#include <cstdint>

#include "text/jinja/builtins/builtin.h"
#include "text/jinja/evaluate/arithmetic.h"
#include "text/jinja/evaluate/operators.h"
#include "text/jinja/format/html.h"
#include "text/jinja/format/number_format.h"
#include "text/jinja/format/printing.h"
#include "text/jinja/value/python_characters.h"

namespace inferflux::text::jinja {
namespace {

struct Conversion {
  bool left = false;
  bool zero = false;
  int64_t width = 0;
  NumberFormat number;
  char type = 's';
};

class PercentFormatter {
 public:
  PercentFormatter(Runtime& rt, const Str& format, const Value& args)
      : rt_(rt), format_(format), text_(format.view()), args_(args), out_(rt) {}

  Value Run() {
    while (at_ < text_.size()) {
      const size_t percent = text_.find('%', at_);
      if (percent == std::string_view::npos) break;
      out_.AppendSlice(format_.text(), at_, percent);
      at_ = percent + 1;
      RunConversion(percent);
    }
    out_.AppendSlice(format_.text(), at_, text_.size());
    const bool is_mapping = args_.AsDict() != nullptr || args_.AsList() != nullptr;
    if (next_ < Available() && !is_mapping) Raise("not all arguments converted during string formatting");
    return MakeStr(rt_, out_, format_.markup);
  }

 private:
  size_t Available() const { return args_.AsTuple() != nullptr ? args_.AsTuple()->items.size() : 1; }

  const Value& NextArgument() {
    if (next_ >= Available()) Raise("not enough arguments for format string");
    ++next_;
    return args_.AsTuple() != nullptr ? args_.AsTuple()->items[next_ - 1] : args_;
  }

  char Peek() const {
    if (at_ >= text_.size()) Raise("incomplete format");
    return text_[at_];
  }

  // Digits or a star; -1 if there are none.
  int64_t ParseCount() {
    if (Peek() == '*') {
      ++at_;
      return ToInt(NextArgument());
    }
    if (Peek() < '0' || Peek() > '9') return -1;
    int64_t count = 0;
    for (; Peek() >= '0' && Peek() <= '9'; ++at_) {
      count = count * 10 + (Peek() - '0');
      if (count > INT32_MAX) Raise("a width or precision is too big");
    }
    return count;
  }

  const Value* ParseKey() {
    if (Peek() != '(') return nullptr;
    const size_t close = text_.find(')', at_);
    if (close == std::string_view::npos) Raise("incomplete format key");
    const DictData* dict = args_.AsDict();
    if (dict == nullptr) Raise("format requires a mapping");
    const std::string_view key = text_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    const Value* value = dict->Find(key);
    if (value == nullptr) Raise("there is no format argument '{}'", Shorten(key));
    return value;
  }

  void RunConversion(size_t percent) {
    const Value* value = ParseKey();
    Conversion conversion;
    for (bool is_flag = true; is_flag;) {
      switch (Peek()) {
        case '-':
          conversion.left = true;
          break;
        case '+':
          conversion.number.sign = '+';
          break;
        case ' ':
          if (conversion.number.sign == '-') conversion.number.sign = ' ';
          break;
        case '#':
          conversion.number.alternate = true;
          break;
        case '0':
          conversion.zero = true;
          break;
        default:
          is_flag = false;
          continue;
      }
      ++at_;
    }
    conversion.width = ParseCount();
    if (conversion.width < -1) {
      conversion.left = true;
      conversion.width = -conversion.width;
    }
    if (Peek() == '.') {
      ++at_;
      const int64_t precision = ParseCount();
      conversion.number.precision = static_cast<int>(std::min<int64_t>(std::max<int64_t>(precision, 0), INT32_MAX));
    }
    while (Peek() == 'l' || Peek() == 'h' || Peek() == 'L') ++at_;
    conversion.type = Peek();
    ++at_;
    if (conversion.type == '%') return out_.AppendSlice(format_.text(), percent, percent + 1);
    if (std::string_view("sradiuoxXeEfFgGc").find(conversion.type) == std::string_view::npos) {
      Raise("unsupported format character '{}'", conversion.type);
    }
    Convert(conversion, value != nullptr ? *value : NextArgument());
  }

  void Convert(const Conversion& conversion, const Value& value) {
    switch (conversion.type) {
      case 's':
      case 'r':
      case 'a':
        return ConvertText(conversion, value);
      case 'c':
        return ConvertChar(conversion, value);
      default:
        return ConvertNumber(conversion, value);
    }
  }

  void ConvertText(const Conversion& conversion, const Value& value) {
    if (conversion.type == 'a') Raise("the format %a is not supported");
    TextBuilder text(rt_);
    if (conversion.type == 'r') {
      AppendRepr(rt_, text, value);
    } else {
      AppendStr(rt_, text, value);
    }
    Str str = *MakeStr(rt_, text).AsStr();
    const bool is_markup = conversion.type == 's' && value.IsStr() && value.AsStr()->markup;
    if (format_.markup && !is_markup) str = Escape(rt_, str);
    const int precision = conversion.number.precision;
    size_t end = str.view().size();
    size_t chars = str.chars();
    if (precision >= 0 && static_cast<size_t>(precision) < chars) {
      chars = static_cast<size_t>(precision);
      end = ByteOfChar(str.view(), str.chars(), chars);
    }
    const int64_t padding = conversion.width - static_cast<int64_t>(chars);
    if (!conversion.left) out_.Repeat(" ", padding, false);
    out_.AppendSlice(str.text(), 0, end);
    if (conversion.left) out_.Repeat(" ", padding, false);
  }

  void ConvertChar(const Conversion& conversion, const Value& value) {
    Conversion as_text = conversion;
    as_text.type = 's';
    as_text.number.precision = -1;
    if (const Str* str = value.AsStr()) {
      if (str->chars() != 1) Raise("%c requires int or char");
      return ConvertText(as_text, value);
    }
    const auto number = AsNumber(value);
    if (!number || number->is_float) Raise("%c requires int or char");
    if (number->i < 0 || number->i > 0x10FFFF || (number->i >= 0xD800 && number->i < 0xE000)) {
      Raise("%c argument {} is not a character", number->i);
    }
    std::string character;
    AppendUtf8(character, static_cast<char32_t>(number->i));
    ConvertText(as_text, MakeStr(rt_, character, number->trusted));
  }

  void ConvertNumber(const Conversion& conversion, const Value& value) {
    RaiseIfUndefined(value);
    const auto number = AsNumber(value);
    if (!number) Raise("%{} format: a number is required, not {}", conversion.type, value.TypeName());
    NumberFormat format = conversion.number;
    if (format.precision > kMaxPrecision) Raise("a precision of more than {} is not supported", kMaxPrecision);
    format.type = conversion.type == 'i' || conversion.type == 'u' ? 'd' : conversion.type;
    const bool is_int = std::string_view("doxX").find(format.type) != std::string_view::npos;
    if (is_int && number->is_float && format.type != 'd') Raise("%{} format: an integer is required", format.type);
    const NumberText text = is_int ? FormatInt(number->is_float ? FloatToInt(number->f) : number->i, format)
                                   : FormatFloat(number->f, format);
    const int64_t padding = conversion.width - static_cast<int64_t>(text.prefix.size() + text.digits.size());
    const bool zeros = conversion.zero && !conversion.left;
    if (!conversion.left && !zeros) out_.Repeat(" ", padding, false);
    out_.Append(text.prefix, number->trusted);
    if (zeros) out_.Repeat("0", padding, number->trusted);
    out_.Append(text.digits, number->trusted);
    if (conversion.left) out_.Repeat(" ", padding, false);
  }

  Runtime& rt_;
  const Str& format_;
  std::string_view text_;
  const Value& args_;
  TextBuilder out_;
  size_t at_ = 0;
  size_t next_ = 0;
};

}  // namespace

Value FormatPercent(Runtime& rt, const Str& format, const Value& args) {
  return PercentFormatter(rt, format, args).Run();
}

}  // namespace inferflux::text::jinja
