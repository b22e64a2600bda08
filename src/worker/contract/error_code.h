// The contract's error codes: the HTTP status of each, and whether a retry helps.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "worker/contract/message.h"

namespace inferflux::worker {

enum class WorkerErrorCode : uint8_t {
  kInvalidRequest,
  kModelLoadFailed,
  kInsufficientMemory,
  kTimeout,
  kCancelled,
  kDeviceError,
  kWorkerUnhealthy,
  kInternal,
};
template <>
struct WordsOf<WorkerErrorCode> {
  static constexpr std::pair<std::string_view, WorkerErrorCode> kWords[] = {
      {"INVALID_REQUEST", WorkerErrorCode::kInvalidRequest},
      {"MODEL_LOAD_FAILED", WorkerErrorCode::kModelLoadFailed},
      {"INSUFFICIENT_MEMORY", WorkerErrorCode::kInsufficientMemory},
      {"TIMEOUT", WorkerErrorCode::kTimeout},
      {"CANCELLED", WorkerErrorCode::kCancelled},
      {"DEVICE_ERROR", WorkerErrorCode::kDeviceError},
      {"WORKER_UNHEALTHY", WorkerErrorCode::kWorkerUnhealthy},
      {"INTERNAL", WorkerErrorCode::kInternal}};
};
// InferFlux's own codes (base/result.h).
template <>
struct WordsOf<ErrorCode> {
  static constexpr std::pair<std::string_view, ErrorCode> kWords[] = {
      {"invalid_argument", ErrorCode::kInvalidArgument},
      {"not_found", ErrorCode::kNotFound},
      {"data_loss", ErrorCode::kDataLoss},
      {"unsupported", ErrorCode::kUnsupported},
      {"resource_exhausted", ErrorCode::kResourceExhausted},
      {"unavailable", ErrorCode::kUnavailable},
      {"cancelled", ErrorCode::kCancelled},
      {"io", ErrorCode::kIo},
      {"internal", ErrorCode::kInternal}};
};

struct CodeFacts {
  WorkerErrorCode code;
  int status;
  bool retriable;  // the same request may succeed later, or on another worker
  std::string_view meaning;
};

inline constexpr CodeFacts kCodes[] = {
    {WorkerErrorCode::kInvalidRequest, 400, false, "the request is wrong and stays wrong"},
    {WorkerErrorCode::kModelLoadFailed, 503, false, "the worker cannot load its model"},
    {WorkerErrorCode::kInsufficientMemory, 503, false, "the model does not fit into the memory that there is"},
    {WorkerErrorCode::kTimeout, 504, true, "the request's deadline passed"},
    {WorkerErrorCode::kCancelled, 499, false, "the client cancelled, or the worker was told to stop"},
    {WorkerErrorCode::kDeviceError, 500, true, "the device computed something wrong, or failed"},
    {WorkerErrorCode::kWorkerUnhealthy, 503, true, "the worker is not ready, is full, or drains"},
    {WorkerErrorCode::kInternal, 500, false, "a bug"},
};

constexpr const CodeFacts& FactsOf(WorkerErrorCode code) {
  for (const CodeFacts& facts : kCodes) {
    if (facts.code == code) return facts;
  }
  return kCodes[std::size(kCodes) - 1];
}

// The contract's code for an error of a request.
WorkerErrorCode CodeOf(ErrorCode code);

}  // namespace inferflux::worker
