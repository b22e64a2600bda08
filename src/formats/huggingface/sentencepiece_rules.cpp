#include "formats/huggingface/sentencepiece_rules.h"

#include <array>
#include <string_view>
#include <utility>

#include "formats/huggingface/hf_steps.h"
#include "formats/huggingface/hf_tokenizer.h"
#include "formats/printable.h"
#include "unicode/utf8.h"

namespace inferflux::formats {
namespace {

Result<std::string> DecodeBase64(std::string_view text, const std::string& where) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return Fail(ErrorCode::kDataLoss, "{} is not base64", where);
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return out;
}

tl::unexpected<Error> NoCounterpart(const JsonObject& step, std::string_view type) {
  return Fail(ErrorCode::kUnsupported, "{}: the step '{}' has no counterpart in SentencePiece's preparation of text",
              step.source(), Printable(type));
}

// Whether a step's pattern is `text` under `kind`, "String" or "Regex".
Result<bool> HasPattern(const JsonObject& step, std::string_view kind, std::string_view text) {
  const auto pattern = step.Get<JsonObject>("pattern");
  if (!pattern) return Forward(pattern);
  const auto found = pattern->GetOr<std::string>(kind, "");
  if (!found) return Forward(found);
  return *found == text;
}

struct Findings {
  SentencePieceRules rules;
  bool strips = false;
};

Status ReadNormalizerStep(const JsonObject& step, Findings& found) {
  const auto type = step.Get<std::string>("type");
  if (!type) return Forward(type);
  const auto content = step.GetOr<std::string>("content", "");
  if (!content) return Forward(content);
  if (*type == "Precompiled") {
    const auto text = step.GetOr<std::string>("precompiled_charsmap", "");
    if (!text) return Forward(text);
    auto map = DecodeBase64(*text, step.source() + ": precompiled_charsmap");
    if (!map) return Forward(map);
    found.rules.charsmap = std::move(*map);
    return {};
  }
  if (*type == "Prepend") {
    const auto prefix = step.Get<std::string>("prepend");
    if (!prefix) return Forward(prefix);
    if (*prefix != unicode::kSpaceMarkUtf8) return NoCounterpart(step, *type);
    found.rules.space_prefix = "every";
    return {};
  }
  if (*type == "Strip") {
    found.strips = true;
    return {};
  }
  if (*type == "Replace") {
    const auto marks = HasPattern(step, "String", " "), squeezes = HasPattern(step, "Regex", " {2,}");
    if (!marks) return Forward(marks);
    if (!squeezes) return Forward(squeezes);
    if (*marks && *content == unicode::kSpaceMarkUtf8) return {};
    if (*squeezes && (*content == " " || *content == unicode::kSpaceMarkUtf8)) {
      found.rules.remove_extra_whitespaces = true;
      return {};
    }
  }
  return NoCounterpart(step, *type);
}

Status ReadSplitStep(const JsonObject& step, Findings& found) {
  const auto type = step.Get<std::string>("type");
  if (!type) return Forward(type);
  if (*type == "WhitespaceSplit") {
    found.rules.remove_extra_whitespaces = true;
    return {};
  }
  if (*type == "Metaspace") {
    const auto old_flag = step.GetOr<bool>("add_prefix_space", true);
    if (!old_flag) return Forward(old_flag);
    const auto scheme = step.GetOr<std::string>("prepend_scheme", *old_flag ? "always" : "never");
    if (!scheme) return Forward(scheme);
    const auto mark = step.GetOr<std::string>("replacement", std::string(unicode::kSpaceMarkUtf8));
    if (!mark) return Forward(mark);
    if (*mark != unicode::kSpaceMarkUtf8 || (*scheme != "always" && *scheme != "first" && *scheme != "never"))
      return NoCounterpart(step, *type);
    found.rules.space_prefix = *scheme == "always" ? "unspaced" : *scheme;
    return {};
  }
  if (*type == "Split") {  // at spaces, of which the normalizer left none
    const auto spaces = HasPattern(step, "String", " ");
    if (!spaces) return Forward(spaces);
    if (*spaces) return {};
  }
  return NoCounterpart(step, *type);
}

}  // namespace

Result<SentencePieceRules> ReadSentencePieceRules(const HfTokenizer& tokenizer) {
  if (tokenizer.rules) return *tokenizer.rules;
  Findings found;
  const auto normalizers = ReadHfSteps(tokenizer.root, "normalizer", "normalizers");
  if (!normalizers) return Forward(normalizers);
  for (const JsonObject& step : *normalizers) {
    if (auto read = ReadNormalizerStep(step, found); !read) return Forward(read);
  }
  const auto splits = ReadHfSteps(tokenizer.root, "pre_tokenizer", "pretokenizers");
  if (!splits) return Forward(splits);
  for (const JsonObject& step : *splits) {
    if (auto read = ReadSplitStep(step, found); !read) return Forward(read);
  }
  if (found.strips && !found.rules.remove_extra_whitespaces) return NoCounterpart(tokenizer.root, "Strip");
  return found.rules;
}

}  // namespace inferflux::formats
