// What load a benchmark puts on a server, and the prompts that it is made of.
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
  double rate = 0.0;  // requests a second with exponential gaps (a Poisson process); 0: `concurrency` clients in a row
  int32_t requests = 16;
  int32_t prompt_tokens = 128;
  double shared_prefix = 0.0;  // share of a prompt that all prompts of a run have in common, 0 to 1
  int32_t max_tokens = 64;
  int32_t vocab = 256;  // prompts are random ids from 1 to here
  uint64_t seed = 0;
};

// Prompts as token ids, so that no tokeniser stands between what was asked for and what is measured. Those of one
// source share their beginning and differ behind it; sources of other seeds or rounds share nothing but by chance.
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
