// Every sampling parameter is one row here: its name, its range, its effect, and the member that the sampler reads. The
// server's parser, inferctl's flags and the table in docs/api.md are generated from the rows. Defaults are the members'
// initial values.
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

// How to sample a request's tokens: the sampler's own parameters, and values that become parameters only when the
// choice and the model's tokenizer are known.
struct SamplingSpec {
  engine::SamplingParams params;  // without seed and dry_breakers
  std::optional<int64_t> seed;    // choice i uses seed + i; none: random
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  std::vector<std::string_view> given;  // the rows' names that the request set; a recipe does not change those
};

struct SamplingRow {
  using Params = engine::SamplingParams;
  using Biases = std::vector<std::pair<TokenId, float>>;
  // The member's type determines the type of the value: a number, an integer, 0 or 2 (mirostat off or version 2), an
  // object that maps token ids to numbers, any 64-bit integer, a list of strings.
  using Member = std::variant<float Params::*, int32_t Params::*, bool Params::*, Biases Params::*,
                              std::optional<int64_t> SamplingSpec::*, std::vector<std::string> SamplingSpec::*>;

  std::string_view name;
  Member member;
  double min = 0;  // bounds a number, each bias, or the length of each string in bytes
  double max = 0;
  std::string_view help;
  bool filter = false;  // a filter that mirostat replaces
};

// In the order in which errors that involve several fields name them.
std::span<const SamplingRow> SamplingTable();

// The rows as a Markdown table: field, type, range, default, effect.
std::string SamplingTableMarkdown();
// The default of a row, for documentation and help: "1", "0.1", "random".
std::string DefaultOf(const SamplingRow& row);

// The filter that is set although mirostat replaces it; null if there is none.
const SamplingRow* ReplacedByMirostat(const engine::SamplingParams& params);

}  // namespace inferflux::serving
