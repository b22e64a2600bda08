#include "base/log_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace inferflux::log {
namespace {

bool IsControl(unsigned char byte) { return byte < 0x20 || byte == 0x7f; }

// The bytes of the UTF-8 sequence at the start of `text`; 0 if there is none (RFC 3629, section 4).
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool legal = !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second > 0x9F);
    return legal && tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool legal = !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second > 0x8F);
    return legal && tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

std::string JsonText(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char first = text.front();
    if (length == 0) {
      out += "\uFFFD";
    } else if (first == '"' || first == '\\') {
      (out += '\\') += first;
    } else if (IsControl(static_cast<unsigned char>(first))) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(first));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return out + '"';
}

// In quotes if it has spaces or quotes, so that a line splits into its fields again.
std::string PlainText(std::string_view text) {
  const bool quoted = text.find_first_of(" \"") != std::string_view::npos;
  std::string out = quoted ? "\"" : "";
  for (const char c : text) {
    if (IsControl(static_cast<unsigned char>(c))) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      if (quoted && (c == '"' || c == '\\')) out += '\\';
      out += c;
    }
  }
  return quoted ? out + '"' : out;
}

}  // namespace

std::string MakeLine(Format format, std::string_view message, const std::vector<Field>& common,
                     const std::vector<Field>& fields) {
  const bool json = format == Format::kJson;
  std::string out = json ? "\"message\":" + JsonText(message) : std::string(message);
  for (const auto* list : {&common, &fields}) {
    for (const Field& field : *list) {
      if (json) {
        out += fmt::format(",\"{}\":{}", field.name, field.number ? field.value : JsonText(field.value));
      } else {
        out += fmt::format(" {}={}", field.name, PlainText(field.value));
      }
    }
  }
  return out;
}

}  // namespace inferflux::log
