#include "dspy/python/python_format.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <cmath>

#include "dspy/python/python_text.h"

namespace inferflux::dspy {
namespace {

// str.isprintable for what prompts contain: controls, separators but the space, formats, surrogates, private use and
// non-characters are not. Unassigned characters elsewhere count as printable.
bool IsPrintable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  if (c <= 0xA0 || c == 0xAD) return false;
  if (IsPythonSpace(c)) return false;
  if ((c >= 0x0600 && c <= 0x0605) || c == 0x061C || c == 0x06DD || c == 0x070F || c == 0x180E) return false;
  if ((c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F)) return false;
  if ((c >= 0xD800 && c <= 0xF8FF) || c == 0xFEFF || (c >= 0xFFF0 && c <= 0xFFFB)) return false;
  return (c & 0xFFFE) != 0xFFFE && c < 0xE0000;
}

void AppendRepr(const boost::json::value& value, std::string& out);

void AppendNumber(const boost::json::value& value, std::string& out) {
  if (value.is_int64()) {
    out += fmt::format("{}", value.get_int64());
  } else if (value.is_uint64()) {
    out += fmt::format("{}", value.get_uint64());
  } else {
    out += FloatRepr(value.get_double());
  }
}

void AppendRepr(const boost::json::value& value, std::string& out) {
  if (const auto* text = value.if_string()) {
    out += PythonQuote({text->data(), text->size()});
  } else if (const auto* array = value.if_array()) {
    out += '[';
    for (size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out += ", ";
      AppendRepr((*array)[i], out);
    }
    out += ']';
  } else if (const auto* object = value.if_object()) {
    out += '{';
    bool first = true;
    for (const auto& [name, member] : *object) {
      if (!std::exchange(first, false)) out += ", ";
      out += PythonQuote({name.data(), name.size()});
      out += ": ";
      AppendRepr(member, out);
    }
    out += '}';
  } else if (value.is_bool()) {
    out += value.get_bool() ? "True" : "False";
  } else if (value.is_null()) {
    out += "None";
  } else {
    AppendNumber(value, out);
  }
}

void AppendJsonText(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

class JsonDumper {
 public:
  explicit JsonDumper(size_t indent) : indent_(indent) {}

  void Append(const boost::json::value& value, size_t depth) {
    if (const auto* text = value.if_string()) {
      AppendJsonText({text->data(), text->size()}, out_);
    } else if (const auto* array = value.if_array()) {
      Open('[');
      for (size_t i = 0; i < array->size(); ++i) {
        Next(i == 0, depth + 1);
        Append((*array)[i], depth + 1);
      }
      Close(']', array->empty(), depth);
    } else if (const auto* object = value.if_object()) {
      Open('{');
      bool first = true;
      for (const auto& [name, member] : *object) {
        Next(std::exchange(first, false), depth + 1);
        AppendJsonText({name.data(), name.size()}, out_);
        out_ += ": ";
        Append(member, depth + 1);
      }
      Close('}', object->empty(), depth);
    } else if (value.is_bool()) {
      out_ += value.get_bool() ? "true" : "false";
    } else if (value.is_null()) {
      out_ += "null";
    } else {
      AppendNumber(value, out_);
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void Open(char bracket) { out_ += bracket; }
  void Next(bool first, size_t depth) {
    if (!first) out_ += indent_ > 0 ? "," : ", ";
    Break(depth);
  }
  void Close(char bracket, bool empty, size_t depth) {
    if (!empty) Break(depth);
    out_ += bracket;
  }
  void Break(size_t depth) {
    if (indent_ == 0) return;
    out_ += '\n';
    out_.append(depth * indent_, ' ');
  }

  size_t indent_;
  std::string out_;
};

}  // namespace

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer;
  const double size = std::abs(value);
  const bool plain = value == 0 || (size >= 1e-4 && size < 1e16);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  std::string text(buffer.data(), end);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string PythonQuote(std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const PythonChar c = CharAt(text, at);
    if (c.code == static_cast<unsigned char>(quote) || c.code == '\\') {
      out += '\\';
      out += static_cast<char>(c.code);
    } else if (c.code == '\n') {
      out += "\\n";
    } else if (c.code == '\r') {
      out += "\\r";
    } else if (c.code == '\t') {
      out += "\\t";
    } else if (IsPrintable(c.code)) {
      out += text.substr(at, c.size);
    } else {
      const auto code = static_cast<uint32_t>(c.code);
      out += code < 0x100 ? fmt::format("\\x{:02x}", code)
                          : (code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code));
    }
    at += c.size;
  }
  out += quote;
  return out;
}

std::string PythonRepr(const boost::json::value& value) {
  std::string out;
  AppendRepr(value, out);
  return out;
}

std::string PythonStr(const boost::json::value& value) {
  if (const auto* text = value.if_string()) return {text->data(), text->size()};
  return PythonRepr(value);
}

std::string JsonDumps(const boost::json::value& value, size_t indent) {
  JsonDumper dumper(indent);
  dumper.Append(value, 0);
  return dumper.Take();
}

}  // namespace inferflux::dspy
