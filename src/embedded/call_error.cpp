#include "embedded/call_error.h"

#include <string>

namespace inferflux::embedded {
namespace {

using serving::GenerationError;

std::string FieldOf(const GenerationError& error) {
  using Field = GenerationError::Field;
  switch (error.field) {
    case Field::kModel:
      return "model";
    case Field::kPrompt:
      return "prompt";
    case Field::kGrammar:
      return "constraint";
    case Field::kTools:
    case Field::kToolChoice:
    case Field::kParallelCalls:
    case Field::kStrictTool:
      return "tools";
    case Field::kSpeculation:
    case Field::kLogitBias:
    case Field::kPromptLogprobs:
    case Field::kLogprobs:
    case Field::kReasoning:
      break;
  }
  return "";
}

ErrorCode CodeOf(const GenerationError& error) {
  using Kind = GenerationError::Kind;
  switch (error.kind) {
    case Kind::kContextLength:
      return ErrorCode::kContextTooLong;
    case Kind::kTemplate:
      return ErrorCode::kTokenizationFailed;
    case Kind::kInvalid:
      if (error.field == GenerationError::Field::kPrompt) return ErrorCode::kTokenizationFailed;
      break;
    case Kind::kUnsupported:
    case Kind::kNoChatTemplate:
      break;
  }
  return ErrorCode::kInvalidConfig;
}

}  // namespace

Error OfGeneration(const GenerationError& error) {
  return {.code = CodeOf(error), .message = serving::ToError(error).message, .field = FieldOf(error)};
}

Error OfSubmit(const inferflux::Error& error) {
  const bool unfit = error.code == inferflux::ErrorCode::kInvalidArgument;
  return dspy::FromEngine(unfit ? Stage::kAdmit : Stage::kGenerate, error);
}

Status CheckFinish(const scheduler::Finish& finish, bool late) {
  switch (finish.reason) {
    case scheduler::FinishReason::kStop:
    case scheduler::FinishReason::kLength:
      return {};
    case scheduler::FinishReason::kCancelled:
      // A caller who cancels does not wait for this event.
      return Refuse({.code = ErrorCode::kBackendError, .message = "the model was unloaded during the call"});
    case scheduler::FinishReason::kError:
      break;
  }
  if (late && finish.error.code == inferflux::ErrorCode::kResourceExhausted) {
    return Refuse({.code = ErrorCode::kTimeout, .message = finish.error.message});
  }
  return Refuse(Stage::kGenerate, finish.error);
}

}  // namespace inferflux::embedded
