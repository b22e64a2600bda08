// Splits text into the pieces ("words") that byte-pair encoding never merges across.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/pre_tokenizer/pre_tokenizer_rules.h"
#include "text/tokenizer/pre_tokenizer/regex_splitter.h"
#include "text/tokenizer/pre_tokenizer/word_scanner.h"

namespace inferflux::text {

class PreTokenizer {
 public:
  // What the rules look into must outlive the pre-tokenizer. A pattern that does not compile is an error.
  static Result<PreTokenizer> Create(const PreTokenizerRules& rules);

  const PreTokenizerRules& rules() const { return rules_; }

  // The end offset of each piece of `text` (valid UTF-8, below 4 GiB) into `ends`, which is cleared first. Thread-safe.
  void Split(std::string_view text, std::vector<uint32_t>& ends) const;

 private:
  struct DigitSplitter {
    bool all_numbers;  // \p{N}, otherwise \d (Nd)
    bool before_word_boundary;
    void Split(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) const;
  };
  using Splitter = std::variant<WordScanner, RegexSplitter, DigitSplitter>;

  explicit PreTokenizer(const PreTokenizerRules& rules) : rules_(rules) {}

  PreTokenizerRules rules_;
  std::vector<Splitter> splitters_;
};

}  // namespace inferflux::text
