// The load that a benchmark puts on a server, and its prompts.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace inferflux::apps {

struct LoadShape {
  std::string model;  // empty: the server's default
  int32_t concurrency = 4;
  double rate = 0.0;  // requests a second with exponential gaps (a Poisson process); 0: `concurrency` clients, each
                      // with one request at a time
  int32_t requests = 16;
  int32_t prompt_tokens = 128;
  double shared_prefix = 0.0;  // share of a prompt that all prompts of a run share, 0 to 1
  int32_t max_tokens = 64;
  int32_t vocab = 256;  // prompts are random ids from 1 to this one
  uint64_t seed = 0;
};

// Prompts as token ids, so that no tokenizer changes their length. Prompts of one source share a prefix and then
// differ. Sources with other seeds or rounds share nothing, except by chance.
class PromptSource {
 public:
  PromptSource(const LoadShape& shape, uint64_t round);

  std::vector<int32_t> Next();
  // Seconds until the next request arrives; 0 without a rate.
  double NextGap();

 private:
  std::vector<int32_t> Random(int32_t count);

  const LoadShape& shape_;
  std::mt19937_64 random_;
  std::vector<int32_t> prefix_;
};

}  // namespace inferflux::apps
