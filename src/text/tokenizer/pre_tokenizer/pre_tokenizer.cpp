#include "text/tokenizer/pre_tokenizer/pre_tokenizer.h"

#include <utility>

#include "unicode/character_classes.h"
#include "unicode/utf8.h"

namespace inferflux::text {

Result<PreTokenizer> PreTokenizer::Create(const PreTokenizerRules& rules) {
  PreTokenizer result(rules);
  for (const PreTokenizerStage& stage : rules.stages) {
    if (stage.kind == PreTokenizerStage::Kind::kDigitsFromRight) {
      result.splitters_.emplace_back(DigitSplitter{stage.pattern == R"(\p{N})", stage.before_word_boundary});
      continue;
    }
    if (stage.scanner.family != WordScanner::Family::kNone) {
      result.splitters_.emplace_back(stage.scanner);
      continue;
    }
    auto regex = RegexSplitter::Compile(stage.pattern);
    if (!regex) return Forward(regex, "the pre-tokeniser");
    result.splitters_.emplace_back(std::move(*regex));
  }
  return result;
}

void PreTokenizer::Split(std::string_view text, std::vector<uint32_t>& ends) const {
  ends.clear();
  if (text.empty()) return;
  ends.push_back(static_cast<uint32_t>(text.size()));
  std::vector<uint32_t> before;
  for (const Splitter& splitter : splitters_) {
    before.swap(ends);
    ends.clear();
    uint32_t begin = 0;
    for (const uint32_t end : before) {
      std::visit([&](const auto& s) { s.Split(text.substr(begin, end - begin), begin, ends); }, splitter);
      begin = end;
    }
  }
}

// Linear in the text, where the equivalent patterns look ahead from every digit to the end of the run.
void PreTokenizer::DigitSplitter::Split(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) const {
  std::vector<uint32_t> run;  // where each digit of the current run ends
  size_t run_begin = 0;
  uint32_t done = base;
  const auto push = [&](size_t end) {
    const uint32_t offset = base + static_cast<uint32_t>(end);
    if (offset > done) ends.push_back(done = offset);
  };
  const auto finish_run = [&](bool word_goes_on) {
    if (!run.empty() && !(before_word_boundary && word_goes_on)) {
      push(run_begin);
      for (size_t i = 0; i < run.size(); ++i) {
        if ((run.size() - 1 - i) % 3 == 0) push(run[i]);
      }
    }
    run.clear();
  };
  for (size_t at = 0; at < text.size();) {
    const unicode::Utf8Char c = unicode::DecodeUtf8(text, at);
    const unicode::CharClass kind = unicode::ClassOf(c.code);
    if (kind == unicode::CharClass::kDecimalDigit || (all_numbers && kind == unicode::CharClass::kOtherNumber)) {
      if (run.empty()) run_begin = at;
      run.push_back(static_cast<uint32_t>(at + c.size));
    } else {
      finish_run(unicode::IsWordChar(c.code));
    }
    at += c.size;
  }
  finish_run(false);
  push(text.size());
}

}  // namespace inferflux::text
