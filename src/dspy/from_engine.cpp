#include "dspy/from_engine.h"

namespace inferflux::dspy {
namespace {

ErrorCode OfStage(Stage stage) {
  switch (stage) {
    case Stage::kFind:
      return ErrorCode::kModelNotFound;
    case Stage::kLoad:
      return ErrorCode::kModelLoadFailed;
    case Stage::kConfigure:
      return ErrorCode::kInvalidConfig;
    case Stage::kTokenize:
      return ErrorCode::kTokenizationFailed;
    case Stage::kAdmit:
      return ErrorCode::kContextTooLong;
    case Stage::kGenerate:
      break;
  }
  return ErrorCode::kInferenceFailed;
}

}  // namespace

Error FromEngine(Stage stage, const inferflux::Error& error) {
  Error mapped{.code = OfStage(stage), .message = error.message};
  switch (error.code) {
    case inferflux::ErrorCode::kCancelled:
      mapped.code = ErrorCode::kCancelled;
      break;
    case inferflux::ErrorCode::kUnavailable:
      mapped.code = ErrorCode::kBackendError;
      break;
    case inferflux::ErrorCode::kResourceExhausted:
      // A prompt that exceeds the context stays so; a queue or a pool that is full does not.
      if (stage != Stage::kAdmit) mapped.code = ErrorCode::kBackendError;
      break;
    case inferflux::ErrorCode::kNotFound:
      if (stage == Stage::kLoad) mapped.code = ErrorCode::kModelNotFound;
      break;
    case inferflux::ErrorCode::kInvalidArgument:
    case inferflux::ErrorCode::kUnsupported:
      if (stage == Stage::kGenerate) mapped.code = ErrorCode::kInvalidConfig;
      break;
    case inferflux::ErrorCode::kDataLoss:
    case inferflux::ErrorCode::kIo:
    case inferflux::ErrorCode::kInternal:
      break;
  }
  return mapped;
}

}  // namespace inferflux::dspy
