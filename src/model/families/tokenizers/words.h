// Word patterns that several families' tokenizers share, as in their tokenizer.json files.
#pragma once

#include <string_view>

#include "text/tokenizer/pre_tokenizer/pre_tokenizer_rules.h"

namespace inferflux::model::words {

using Stage = text::PreTokenizerStage;
using Scanner = text::WordScanner;

constexpr Stage Regex(std::string_view pattern, Scanner scanner = {}) {
  return {.pattern = pattern, .scanner = scanner};
}

inline constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// cl100k's descendants differ in how many digits stay together, and in what counts as part of a word.
inline constexpr std::string_view kCl100kWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kCl100kOneDigitWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// o200k's descendants also split words at a change from lower to upper case.
inline constexpr std::string_view kO200kWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

inline constexpr std::string_view kDigit = R"(\p{N})";

inline constexpr Stage kGpt2[] = {Regex(kGpt2Words, {.family = Scanner::Family::kGpt2})};
inline constexpr Stage kCl100k[] = {Regex(kCl100kWords, {.family = Scanner::Family::kCl100k, .max_digits = 3})};
inline constexpr Stage kCl100kOneDigit[] = {
    Regex(kCl100kOneDigitWords, {.family = Scanner::Family::kCl100k, .max_digits = 1})};
inline constexpr Stage kO200k[] = {
    Regex(kO200kWords, {.family = Scanner::Family::kO200k, .max_digits = 3, .contractions = true})};
inline constexpr Stage kDigitsApart[] = {Regex(kDigit), kGpt2[0]};  // GPT-2's words after each digit by itself

}  // namespace inferflux::model::words
