#include "text/infill_marks.h"

#include <string_view>

namespace inferflux::text {
namespace {

struct MarkNames {
  std::string_view prefix, suffix, middle, repository, file;
};

constexpr MarkNames kMarkNames[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>"},
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>"},
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>", "", ""},
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", "", ""},
    {"▁<PRE>", "▁<SUF>", "▁<MID>", "", ""},
    {"<PRE>", "<SUF>", "<MID>", "", ""},
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", "", ""},
};

std::optional<TokenId> Mark(const Tokenizer& tokenizer, std::string_view name) {
  return name.empty() ? std::nullopt : tokenizer.Find(name);
}

}  // namespace

std::optional<InfillMarks> FindInfillMarks(const Tokenizer& tokenizer) {
  for (const MarkNames& names : kMarkNames) {
    const auto prefix = Mark(tokenizer, names.prefix), suffix = Mark(tokenizer, names.suffix),
               middle = Mark(tokenizer, names.middle);
    if (!prefix || !suffix || !middle) continue;
    return InfillMarks{.prefix = *prefix,
                       .suffix = *suffix,
                       .middle = *middle,
                       .repository = Mark(tokenizer, names.repository),
                       .file = Mark(tokenizer, names.file)};
  }
  return std::nullopt;
}

}  // namespace inferflux::text
