#include "hardware/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace inferflux::hardware {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view WithoutPrefix(std::string_view uuid) {
  constexpr std::string_view kPrefix = "gpu-";
  const bool has =
      uuid.size() > kPrefix.size() && std::ranges::equal(uuid.substr(0, kPrefix.size()), kPrefix, {}, Lower);
  return has ? uuid.substr(kPrefix.size()) : uuid;
}

std::optional<uint32_t> Hexadecimal(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Domain, bus, device and function.
std::optional<std::array<uint32_t, 4>> ParsePciAddress(std::string_view text) {
  std::string_view function = "0";
  if (const size_t dot = text.rfind('.'); dot != std::string_view::npos) {
    function = text.substr(dot + 1);
    text = text.substr(0, dot);
  }
  const size_t last = text.rfind(':');
  if (last == std::string_view::npos) return std::nullopt;
  const std::string_view device = text.substr(last + 1);
  text = text.substr(0, last);
  std::string_view domain = "0";
  if (const size_t first = text.find(':'); first != std::string_view::npos) {
    domain = text.substr(0, first);
    text = text.substr(first + 1);
  }
  std::array<uint32_t, 4> out{};
  const std::array<std::string_view, 4> parts{domain, text, device, function};
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto number = Hexadecimal(parts[i]);
    if (!number) return std::nullopt;
    out[i] = *number;
  }
  return out;
}

}  // namespace

std::string PciAddress(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

std::string Uuid(std::span<const uint8_t, 16> bytes) {
  if (std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; })) return {};
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", bytes[i]);
  }
  return out;
}

bool SameUuid(std::string_view a, std::string_view b) {
  a = WithoutPrefix(a);
  b = WithoutPrefix(b);
  return !a.empty() && std::ranges::equal(a, b, {}, Lower, Lower);
}

bool SamePciAddress(std::string_view a, std::string_view b) {
  const auto first = ParsePciAddress(a);
  return first && first == ParsePciAddress(b);
}

}  // namespace inferflux::hardware
