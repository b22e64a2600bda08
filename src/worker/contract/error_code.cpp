#include "worker/contract/error_code.h"

namespace inferflux::worker {

WorkerErrorCode CodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kUnsupported:
      return WorkerErrorCode::kInvalidRequest;
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kUnavailable:
      return WorkerErrorCode::kWorkerUnhealthy;
    case ErrorCode::kCancelled:
      return WorkerErrorCode::kCancelled;
    case ErrorCode::kDataLoss:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return WorkerErrorCode::kInternal;
}

}  // namespace inferflux::worker
