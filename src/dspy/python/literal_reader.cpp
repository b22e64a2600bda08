#include "dspy/python/literal_reader.h"

#include <boost/json/array.hpp>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

constexpr size_t kMaxObjectsTried = 256;

class LiteralReader {
 public:
  LiteralReader(std::string_view text, size_t at) : text_(text), at_(at) {}

  size_t at() const { return at_; }

  bool Value(boost::json::value& out, size_t depth) {
    SkipSpace();
    if (at_ == text_.size()) return false;
    switch (text_[at_]) {
      case '"':
      case '\'':
        return Text(out);
      case '[':
        return depth < kMaxLiteralDepth && List(out, ']', depth);
      case '(':
        return depth < kMaxLiteralDepth && List(out, ')', depth);
      case '{':
        return depth < kMaxLiteralDepth && Object(out, depth);
      default:
        return Word(out) || Number(out);
    }
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || (text_[at_] >= '\t' && text_[at_] <= '\r'))) ++at_;
  }

  bool Take(char c) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool Word(boost::json::value& out) {
    const auto take = [&](std::string_view word) {
      if (!text_.substr(at_).starts_with(word)) return false;
      const size_t end = at_ + word.size();
      if (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
        return false;
      at_ = end;
      return true;
    };
    if (take("true") || take("True")) {
      out = true;
    } else if (take("false") || take("False")) {
      out = false;
    } else if (take("null") || take("None")) {
      out = nullptr;
    } else {
      return false;
    }
    return true;
  }

  // Integers of 64 bits stay integers. What no finite float holds is no number.
  bool Number(boost::json::value& out) {
    size_t begin = at_;
    if (text_[begin] == '+') ++begin;
    size_t end = begin;
    bool whole = true;
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      const bool sign = (c == '-' || c == '+') && (end == begin || (text_[end - 1] | 0x20) == 'e');
      if (c >= '0' && c <= '9') continue;
      if (c != '.' && c != 'e' && c != 'E' && !sign) break;
      whole = whole && c == '-';
    }
    const char* first = text_.data() + begin;
    const char* last = text_.data() + end;
    if (int64_t number = 0; whole) {
      if (const auto read = std::from_chars(first, last, number); read.ec == std::errc() && read.ptr == last) {
        out = number;
        at_ = end;
        return true;
      }
    }
    double number = 0;
    const auto read = std::from_chars(first, last, number);
    if (read.ec != std::errc() || read.ptr != last || !std::isfinite(number)) return false;
    out = number;
    at_ = end;
    return true;
  }

  bool Hex(size_t digits, char32_t& code) {
    uint32_t number = 0;
    if (at_ + digits > text_.size()) return false;
    const char* first = text_.data() + at_;
    const auto read = std::from_chars(first, first + digits, number, 16);
    if (read.ec != std::errc() || read.ptr != first + digits) return false;
    at_ += digits;
    code = number;
    return true;
  }

  bool Unicode(size_t digits, std::string& out) {
    char32_t code = 0;
    if (!Hex(digits, code)) return false;
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
      const size_t back = at_;
      char32_t low = 0;
      at_ += 2;
      if (Hex(4, low) && low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        at_ = back;
      }
    }
    const bool character = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    AppendChar(character ? code : 0xFFFD, out);
    return true;
  }

  bool Escape(std::string& out) {
    static constexpr std::string_view kFrom = "\"'\\/bfnrtav0";
    static constexpr std::string_view kTo("\"'\\/\b\f\n\r\t\a\v\0", 12);
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    if (c == 'x') return Unicode(2, out);
    if (c == 'u') return Unicode(4, out);
    if (c == 'U') return Unicode(8, out);
    if (const size_t i = kFrom.find(c); i != std::string_view::npos) {
      out += kTo[i];
    } else if (c != '\n') {  // an escaped line end joins lines; unknown escapes are text, as in Python
      out += '\\';
      out += c;
    }
    return true;
  }

  bool RawText(std::string& out) {
    const char quote = text_[at_++];
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == quote) return true;
      if (c == '\\') {
        if (!Escape(out)) return false;
      } else {
        out += c;
      }
    }
    return false;
  }

  bool Text(boost::json::value& out) {
    std::string text;
    if (!RawText(text)) return false;
    out = text;
    return true;
  }

  bool List(boost::json::value& out, char end, size_t depth) {
    ++at_;
    boost::json::array array;
    while (!Take(end)) {
      boost::json::value item;
      if (!Value(item, depth + 1)) return false;
      array.push_back(std::move(item));
      if (Take(',')) continue;
      if (!Take(end)) return false;
      break;
    }
    out = std::move(array);
    return true;
  }

  bool Object(boost::json::value& out, size_t depth) {
    ++at_;
    boost::json::object object;
    while (!Take('}')) {
      if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) return false;
      std::string name;
      if (!RawText(name) || !Take(':')) return false;
      boost::json::value value;
      if (!Value(value, depth + 1)) return false;
      object[name] = std::move(value);
      if (Take(',')) continue;
      if (!Take('}')) return false;
      break;
    }
    out = std::move(object);
    return true;
  }

  std::string_view text_;
  size_t at_;
};

constexpr std::string_view kFence = "```";

// What is between the first fence at or after `from` and the next one, without the language's name.
std::optional<std::string_view> Fenced(std::string_view text, size_t& from) {
  const size_t open = text.find(kFence, from);
  if (open == std::string_view::npos) return std::nullopt;
  size_t begin = open + kFence.size();
  while (begin < text.size() && std::isalnum(static_cast<unsigned char>(text[begin]))) ++begin;
  const size_t close = text.find(kFence, begin);
  from = close == std::string_view::npos ? text.size() : close + kFence.size();
  return text.substr(begin, close == std::string_view::npos ? close : close - begin);
}

std::optional<boost::json::value> ReadWhole(std::string_view text) {
  size_t at = 0;
  auto value = ReadLiteralAt(text, at);
  if (!value || !Strip(text.substr(at)).empty()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<boost::json::value> ReadLiteralAt(std::string_view text, size_t& at) {
  LiteralReader reader(text, at);
  boost::json::value value;
  if (!reader.Value(value, 0)) return std::nullopt;
  at = reader.at();
  return value;
}

std::optional<boost::json::value> ReadLiteral(std::string_view text) {
  text = Strip(text);
  if (!text.starts_with(kFence)) return ReadWhole(text);
  size_t from = 0;
  const auto fenced = Fenced(text, from);
  if (!fenced || from != text.size()) return std::nullopt;
  return ReadWhole(Strip(*fenced));
}

std::optional<boost::json::object> FindJsonObject(std::string_view text) {
  if (auto whole = ReadLiteral(text); whole && whole->is_object()) return std::move(whole->get_object());
  size_t from = 0;
  for (size_t tries = 0; tries < kMaxObjectsTried; ++tries) {
    const auto fenced = Fenced(text, from);
    if (!fenced) break;
    if (auto value = ReadWhole(Strip(*fenced)); value && value->is_object()) return std::move(value->get_object());
  }
  size_t at = text.find('{');
  for (size_t tries = 0; tries < kMaxObjectsTried && at != std::string_view::npos; ++tries) {
    size_t end = at;
    if (auto value = ReadLiteralAt(text, end); value && value->is_object()) return std::move(value->get_object());
    at = text.find('{', at + 1);
  }
  return std::nullopt;
}

}  // namespace inferflux::dspy
