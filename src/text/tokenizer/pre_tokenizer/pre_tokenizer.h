// Splits text into the pieces ("words") that byte-pair encoding never merges across.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/pre_tokenizer/pre_tokenizer_table.h"
#include "text/tokenizer/pre_tokenizer/regex_splitter.h"
#include "text/tokenizer/pre_tokenizer/word_scanner.h"

namespace inferflux::text {

class PreTokenizer {
 public:
  // An unknown name is an error that names it and the known ones: a wrong split is a silently worse model.
  static Result<PreTokenizer> Create(std::string_view name);

  const PreTokenizerRules& rules() const { return *rules_; }

  // The end offset of each piece of `text` (valid UTF-8, below 4 GiB) into `ends`, which is cleared first. Thread-safe.
  void Split(std::string_view text, std::vector<uint32_t>& ends) const;

 private:
  struct DigitSplitter {
    bool all_numbers;  // \p{N}, otherwise \d (Nd)
    bool before_word_boundary;
    void Split(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) const;
  };
  using Splitter = std::variant<WordScanner, RegexSplitter, DigitSplitter>;

  explicit PreTokenizer(const PreTokenizerRules& rules) : rules_(&rules) {}

  const PreTokenizerRules* rules_;
  std::vector<Splitter> splitters_;
};

}  // namespace inferflux::text
