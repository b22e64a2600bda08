// Every sampling parameter is one row here: its name, its range, what it does, and the member that the sampler reads.
// The server's parser, inferctl's flags and the table in docs/api.md are made from the rows. Defaults are the members'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/token_id.h"
#include "engine/sampling/sampling_params.h"

namespace inferflux::serving {

inline constexpr size_t kMaxBiases = 1024;
inline constexpr size_t kMaxBreakers = 32;

// How a request wants its tokens to be chosen: the sampler's own parameters, and what becomes one of them only when the
// choice and the model's tokenizer are known.
struct SamplingSpec {
  engine::SamplingParams params;  // without seed and dry_breakers
  std::optional<int64_t> seed;    // choice i uses seed + i; none: random
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
};

struct SamplingRow {
  using Params = engine::SamplingParams;
  using Biases = std::vector<std::pair<TokenId, float>>;
  // The member's type says what a value looks like: a number, an integer, 0 or 2 (mirostat's versions, of which 2 is
  // on), an object from token ids to numbers, any 64-bit integer, a list of strings.
  using Member = std::variant<float Params::*, int32_t Params::*, bool Params::*, Biases Params::*,
                              std::optional<int64_t> SamplingSpec::*, std::vector<std::string> SamplingSpec::*>;

  std::string_view name;
  Member member;
  double min = 0;  // of a number, of each bias, of the bytes of each string
  double max = 0;
  std::string_view help;
  bool filter = false;  // mirostat replaces it
};

// In the order in which errors between fields name them.
std::span<const SamplingRow> SamplingTable();

// The rows as a Markdown table: field, type, range, default, effect.
std::string SamplingTableMarkdown();
// "1", "0.1", "random": the default of a row, for documents and help.
std::string DefaultOf(const SamplingRow& row);

// The filter that is set although mirostat replaces it; null where there is none.
const SamplingRow* ReplacedByMirostat(const engine::SamplingParams& params);

}  // namespace inferflux::serving
