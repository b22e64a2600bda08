// Any bytes as a GBNF grammar and, after a zero byte, a text. There must be no crash and no endless compilation, and a
// mask must allow exactly the tokens that the matcher accepts.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cpu_limit.h"
#include "grammar_walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const inferflux::fuzz::CpuLimit limit;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = input.find('\0');
  inferflux::fuzz::WalkGrammar(
      {.kind = inferflux::text::GrammarSpec::Kind::kGbnf, .source = std::string(input.substr(0, split))},
      split == input.npos ? std::string_view() : input.substr(split + 1));
  return 0;
}
