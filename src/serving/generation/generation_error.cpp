#include "serving/generation/generation_error.h"

namespace inferflux::serving {
namespace {

std::string Words(const GenerationError& error) {
  using Field = GenerationError::Field;
  switch (error.field) {
    case Field::kModel:
      return "the model";
    case Field::kPrompt:
      return "the prompt";
    case Field::kGrammar:
      return "the grammar";
    case Field::kSpeculation:
      return "the kind of speculation";
    case Field::kLogitBias:
      return "logit_bias";
    case Field::kPromptLogprobs:
      return "prompt_logprobs";
    case Field::kLogprobs:
      return "the number of log probabilities";
    case Field::kTools:
      return "the list of tools";
    case Field::kToolChoice:
      return "the tool choice";
    case Field::kParallelCalls:
      return "a single tool call";
    case Field::kStrictTool:
      return fmt::format("the strict tool {}", error.index);
    case Field::kReasoning:
      return "reasoning";
  }
  return "the request";
}

}  // namespace

Error ToError(const GenerationError& error) {
  const bool unsupported =
      error.kind == GenerationError::Kind::kUnsupported || error.kind == GenerationError::Kind::kNoChatTemplate;
  return {.code = unsupported ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument,
          .message = error.is_sentence() ? error.message : fmt::format("{} {}", Words(error), error.message)};
}

}  // namespace inferflux::serving
