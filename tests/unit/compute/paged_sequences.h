// Steps of several sequences whose blocks are contiguous or anywhere: any mix of prefill and decode.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "compute/params.h"

namespace inferflux::compute::testing {

class PagedSequences {
 public:
  PagedSequences(const std::vector<int32_t>& lengths, int32_t block_size, bool shuffled, std::mt19937& random)
      : block_size_(block_size), done_(lengths.size(), 0) {
    for (const int32_t length : lengths) {
      tables_.emplace_back();
      for (int32_t p = 0; p < length; p += block_size) tables_.back().push_back(blocks_++);
    }
    if (!shuffled) return;
    std::vector<int32_t> order(static_cast<size_t>(blocks_));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (auto& table : tables_) {
      for (int32_t& block : table) block = order[static_cast<size_t>(block)];
    }
  }

  int32_t blocks() const { return blocks_; }

  // The step that brings each sequence to its length in `ends`; those that have it already are left out.
  StepGeometry StepTo(const std::vector<int32_t>& ends) {
    StepGeometry step{.query_starts = {0}, .block_size = block_size_};
    for (size_t s = 0; s < ends.size(); ++s) {
      if (ends[s] == done_[s]) continue;
      for (int32_t p = done_[s]; p < ends[s]; ++p) {
        step.positions.push_back(p);
        step.tokens.push_back(0);
      }
      done_[s] = ends[s];
      step.query_starts.push_back(step.rows());
      step.table_starts.push_back(static_cast<int32_t>(step.block_tables.size()));
      step.block_tables.insert(step.block_tables.end(), tables_[s].begin(), tables_[s].end());
    }
    step.table_starts.push_back(static_cast<int32_t>(step.block_tables.size()));
    return step;
  }

 private:
  int32_t block_size_;
  int32_t blocks_ = 0;
  std::vector<std::vector<int32_t>> tables_;
  std::vector<int32_t> done_;  // of each sequence's length
};

}  // namespace inferflux::compute::testing
