#include "serving/generation/sampling_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace inferflux::serving {
namespace {

using Params = engine::SamplingParams;
constexpr double kMaxTokens = 1 << 24;

// Names, ranges and defaults follow the OpenAI API, llama-server and vLLM.
constexpr SamplingRow kSamplingRows[] = {
    {"temperature", &Params::temperature, 0, 2,
     "divides the logits; 0 always takes the likeliest token, of equal ones that with the lowest id"},
    {"top_k", &Params::top_k, -1, kMaxTokens, "keep the k likeliest tokens; 0 and -1 are off", true},
    {"top_p", &Params::top_p, 0, 1, "keep the likeliest tokens that together reach this probability", true},
    {"min_p", &Params::min_p, 0, 1, "keep tokens that are at least this many times as likely as the likeliest", true},
    {"typical_p", &Params::typical_p, 0, 1, "keep the most typical tokens that together reach this probability", true},
    {"top_n_sigma", &Params::top_n_sigma, 0, 100,
     "keep logits within this many standard deviations of the highest; 0 is off"},
    {"xtc_probability", &Params::xtc_probability, 0, 1,
     "how often all tokens above `xtc_threshold` but the least likely of them are excluded", true},
    {"xtc_threshold", &Params::xtc_threshold, 0, 0.5, "the probability that XTC counts from"},
    {"repetition_penalty", &Params::repetition_penalty, 0.01, 10,
     "divides positive and multiplies negative logits of tokens in prompt and output"},
    {"presence_penalty", &Params::presence_penalty, -2, 2, "subtracted once from the logits of tokens in the output"},
    {"frequency_penalty", &Params::frequency_penalty, -2, 2,
     "subtracted from a token's logit for each time that it is in the output"},
    {"dry_multiplier", &Params::dry_multiplier, 0, 100, "the strength of DRY's penalty on repeated passages; 0 is off"},
    {"dry_base", &Params::dry_base, 1, 4, "how fast DRY's penalty grows with a passage's length"},
    {"dry_allowed_length", &Params::dry_allowed_length, 0, 1024, "tokens that may repeat without DRY's penalty"},
    {"dry_penalty_last_n", &Params::dry_penalty_last_n, -1, kMaxTokens,
     "tokens that DRY looks back; -1 is the whole of prompt and output"},
    {"dry_sequence_breakers", &SamplingSpec::dry_sequence_breakers, 1, 64, "what DRY's passages do not reach across"},
    {"mirostat", &Params::mirostat, 0, 2, "2 keeps the surprise of the text near `mirostat_tau`; 0 is off"},
    {"mirostat_tau", &Params::mirostat_tau, 0, 100, "the surprise that mirostat aims at, in bits"},
    {"mirostat_eta", &Params::mirostat_eta, 0, 1, "how fast mirostat corrects"},
    {"seed", &SamplingSpec::seed, 0, 0, "the same seed gives the same answer; with `n`, choice i uses seed + i"},
    {"logit_bias", &Params::logit_bias, -100, 100, "added to the logits of these tokens"},
};

// 16777216 as "16,777,216".
std::string Grouped(double number) {
  std::string out = fmt::format("{}", number);
  if (number < 10'000 || out.find('.') != std::string::npos) return out;
  out = fmt::format("{}", static_cast<int64_t>(number));
  for (size_t at = out.size(); at > 3;) out.insert(at -= 3, ",");
  return out;
}

std::string TypeOf(const SamplingRow& row) {
  static constexpr std::string_view kWords[] = {"number",  "integer",        "integer", "object, token id to number",
                                                "integer", "list of strings"};
  static_assert(std::size(kWords) == std::variant_size_v<SamplingRow::Member>);
  return std::string(kWords[row.member.index()]);
}

std::string RangeOf(const SamplingRow& row) {
  const std::string ends = fmt::format("{} to {}", Grouped(row.min), Grouped(row.max));
  if (std::holds_alternative<bool Params::*>(row.member)) return "0 or 2";
  if (std::holds_alternative<std::optional<int64_t> SamplingSpec::*>(row.member)) return "64 bits";
  if (std::holds_alternative<SamplingRow::Biases Params::*>(row.member)) {
    return fmt::format("up to {} entries, {}", Grouped(kMaxBiases), ends);
  }
  if (std::holds_alternative<std::vector<std::string> SamplingSpec::*>(row.member)) {
    return fmt::format("up to {}, each {} bytes", kMaxBreakers, ends);
  }
  return ends;
}

struct DefaultWord {
  std::string operator()(float Params::*member) const { return fmt::format("{}", Params().*member); }
  std::string operator()(int32_t Params::*member) const { return fmt::format("{}", Params().*member); }
  std::string operator()(bool Params::*member) const { return Params().*member ? "2" : "0"; }
  std::string operator()(SamplingRow::Biases Params::*) const { return "none"; }
  std::string operator()(std::optional<int64_t> SamplingSpec::*) const { return "random"; }
  std::string operator()(std::vector<std::string> SamplingSpec::*member) const {
    const SamplingSpec defaults;
    std::string out;
    for (const std::string& text : defaults.*member) {
      if (!out.empty()) out += ", ";
      out += text == "\n" ? "newline" : fmt::format("`{}`", text);
    }
    return out;
  }
};

}  // namespace

std::span<const SamplingRow> SamplingTable() { return kSamplingRows; }

std::string DefaultOf(const SamplingRow& row) { return std::visit(DefaultWord(), row.member); }

std::string SamplingTableMarkdown() {
  std::string out = "| field | type | range | default | effect |\n|---|---|---|---|---|\n";
  for (const SamplingRow& row : kSamplingRows) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, TypeOf(row), RangeOf(row), DefaultOf(row), row.help);
  }
  return out;
}

const SamplingRow* ReplacedByMirostat(const engine::SamplingParams& params) {
  if (!params.mirostat) return nullptr;
  const auto differs = [&](const SamplingRow& row) {
    return row.filter && std::visit(
                             [&](auto member) {
                               if constexpr (std::is_invocable_v<decltype(member), const Params&>) {
                                 return params.*member != Params().*member;
                               } else {
                                 return false;
                               }
                             },
                             row.member);
  };
  const auto* found = std::ranges::find_if(kSamplingRows, differs);
  return found == std::end(kSamplingRows) ? nullptr : found;
}

}  // namespace inferflux::serving
