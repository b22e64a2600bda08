#include "config/value_parser.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

namespace inferflux::config {
namespace {

tl::unexpected<Error> Bad(const Key& key, std::string_view text, std::string_view origin, std::string_view wanted) {
  return Fail(ErrorCode::kInvalidArgument, "{} = '{}' ({}): {}", key.name, text, origin, wanted);
}

int64_t TakeUnit(std::string_view& text) {
  using std::literals::operator""sv;
  for (const auto& [unit, factor] : {std::pair{"KiB"sv, int64_t{1} << 10},
                                     {"MiB"sv, int64_t{1} << 20},
                                     {"GiB"sv, int64_t{1} << 30},
                                     {"TiB"sv, int64_t{1} << 40},
                                     {"KB"sv, int64_t{1'000}},
                                     {"MB"sv, int64_t{1'000'000}},
                                     {"GB"sv, int64_t{1'000'000'000}},
                                     {"TB"sv, int64_t{1'000'000'000'000}},
                                     {"K"sv, int64_t{1} << 10},
                                     {"M"sv, int64_t{1} << 20},
                                     {"G"sv, int64_t{1} << 30},
                                     {"T"sv, int64_t{1} << 40}}) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    return factor;
  }
  return 1;
}

Result<int64_t> ParseNumber(const Key& key, std::string_view text, std::string_view origin) {
  std::string_view digits = text;
  const int64_t factor = key.type == Type::kBytes ? TakeUnit(digits) : 1;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const std::string range =
      fmt::format("it must be {} from {} to {}",
                  key.type == Type::kBytes ? "a size (such as 64MiB or 2GB)" : "an integer", key.min, key.max);
  if (error != std::errc() || end != digits.data() + digits.size()) return Bad(key, text, origin, range);
  int64_t value = 0;
  if (__builtin_mul_overflow(number, factor, &value)) return Bad(key, text, origin, range);
  if (value < key.min || value > key.max) return Bad(key, text, origin, range);
  return value;
}

// Zero for a word that is no number.
Result<int64_t> ParseDevice(const Key& key, std::string_view text, std::string_view origin) {
  if (text.size() > kMaxDeviceBytes) {
    return Bad(key, text.substr(0, 32), origin, fmt::format("it must have at most {} bytes", kMaxDeviceBytes));
  }
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return 0;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && number >= key.min && number <= key.max) return number;
  return Bad(key, text, origin,
             fmt::format("it must be a number from {} to {}, a UUID, a PCI address or a name", key.min, key.max));
}

bool IsChoice(std::string_view choices, std::string_view text) {
  while (!choices.empty()) {
    const size_t end = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, end) == text) return true;
    choices.remove_prefix(std::min(end + 1, choices.size()));
  }
  return false;
}

}  // namespace

Result<int64_t> ParseValue(const Key& key, std::string_view text, std::string_view origin) {
  switch (key.type) {
    case Type::kInteger:
    case Type::kBytes:
      return ParseNumber(key, text, origin);
    case Type::kDevice:
      return ParseDevice(key, text, origin);
    case Type::kSwitch:
      if (text == "true") return 1;
      if (text == "false") return 0;
      return Bad(key, text, origin, "it must be true or false");
    case Type::kText:
    case Type::kWords:
      break;
  }
  if (!key.choices.empty() && !IsChoice(key.choices, text)) {
    return Bad(key, text, origin, fmt::format("it must be one of {}", key.choices));
  }
  return 0;
}

}  // namespace inferflux::config
