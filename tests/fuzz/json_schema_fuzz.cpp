// Any bytes as a JSON schema and, after a zero byte, a document. There must be no crash and no endless compilation, and
// every complete text of the grammar must be JSON.
#include <boost/json.hpp>
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
  const std::string written = inferflux::fuzz::WalkGrammar(
      {.kind = inferflux::text::GrammarSpec::Kind::kJsonSchema, .source = std::string(input.substr(0, split))},
      split == input.npos ? std::string_view() : input.substr(split + 1));
  if (written.empty()) return 0;
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = 1'000'000;
  boost::json::parse(written, error, {}, options);
  if (error) std::abort();
  return 0;
}
