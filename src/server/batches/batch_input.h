// The input file of a batch: one request in each line, as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/store/batch_store.h"

namespace inferflux::server {

inline constexpr size_t kMostBatchLines = 50'000;
inline constexpr size_t kMostBatchLineBytes = 4u << 20;
inline constexpr size_t kMostCustomId = 512;     // bytes
inline constexpr size_t kMostInputErrors = 100;  // what is reported of a file

struct BatchInputError {
  std::string code;
  std::string message;
  int64_t line = 0;   // 0: the file
  std::string param;  // empty: none
};

struct BatchInput {
  std::vector<BatchLine> lines;
  std::vector<BatchInputError> errors;  // if there are any, the batch must not run
};

// Each line must be for `endpoint`, with a `custom_id` of its own. Empty lines are no requests.
BatchInput ParseBatchInput(std::string_view content, std::string_view endpoint);

}  // namespace inferflux::server
