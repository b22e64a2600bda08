#include "unicode/utf8.h"

#include <cstring>

namespace inferflux::unicode {
namespace {

// The length that a lead byte announces, and the bounds of the second byte (Unicode's table 3-7).
struct Lead {
  uint8_t length;
  uint8_t low;
  uint8_t high;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// The first position from `at` on whose byte is not ASCII, or the end.
size_t SkipAscii(std::string_view text, size_t at) {
  while (at + 8 <= text.size()) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if (word & 0x8080808080808080ULL) break;
    at += 8;
  }
  while (at < text.size() && static_cast<uint8_t>(text[at]) < 0x80) ++at;
  return at;
}

// The first position from `at` on where an invalid sequence begins, or the end.
size_t FindInvalid(std::string_view text, size_t at) {
  for (at = SkipAscii(text, at); at < text.size(); at = SkipAscii(text, at)) {
    const Utf8Char c = DecodeUtf8(text, at);
    if (!c.valid) return at;
    at += c.size;
  }
  return text.size();
}

}  // namespace

Utf8Char DecodeUtf8(std::string_view text, size_t at) {
  const auto first = static_cast<uint8_t>(text[at]);
  if (first < 0x80) return {first, 1, true, false};
  const Lead lead = LeadOf(first);
  if (lead.length == 0) return {kReplacementChar, 1, false, false};
  char32_t code = first & (0x7F >> lead.length);
  for (uint8_t i = 1; i < lead.length; ++i) {
    if (at + i >= text.size()) return {kReplacementChar, i, false, true};
    const auto byte = static_cast<uint8_t>(text[at + i]);
    const uint8_t low = i == 1 ? lead.low : 0x80;
    const uint8_t high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {kReplacementChar, i, false, false};
    code = (code << 6) | (byte & 0x3F);
  }
  return {code, lead.length, true, false};
}

void AppendUtf8(char32_t code, std::string& out) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (code >> 12)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | (code >> 18)));
    out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

bool IsValidUtf8(std::string_view text) { return FindInvalid(text, 0) == text.size(); }

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    AppendUtf8(c.code, out);
    at += c.size;
  }
  return out;
}

std::string_view MaskInvalidUtf8(std::string_view text, std::string& storage) {
  size_t bad = FindInvalid(text, 0);
  if (bad == text.size()) return text;
  storage.assign(text);
  while (bad < text.size()) {
    const Utf8Char c = DecodeUtf8(text, bad);
    for (size_t i = 0; i < c.size; ++i) storage[bad + i] = '\x01';
    bad = FindInvalid(text, bad + c.size);
  }
  return storage;
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  for (size_t hit = text.find(from); hit != std::string_view::npos; hit = text.find(from, at)) {
    out.append(text.substr(at, hit - at)).append(to);
    at = hit + from.size();
  }
  out.append(text.substr(at));
  return out;
}

}  // namespace inferflux::unicode
