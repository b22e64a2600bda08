// Why a request cannot become a generation. It identifies the field by meaning; each API prefixes its own name of the
// field.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "base/result.h"

namespace inferflux::serving {

struct GenerationError {
  enum class Kind : uint8_t {
    // `message` continues a sentence that begins with the field's name: "names the token 9, but the model's ids end at
    // 7".
    kInvalid,
    kUnsupported,  // the model cannot do it
    // `message` is a complete sentence:
    kTemplate,        // the model's chat template refuses the messages
    kNoChatTemplate,  // the model has none
    kContextLength,   // the prompt leaves no room for an answer
  };
  enum class Field : uint8_t {
    kModel,
    kPrompt,       // or the messages of a chat
    kGrammar,      // the constraint on the text
    kSpeculation,  // its kind
    kLogitBias,
    kPromptLogprobs,
    kLogprobs,  // of the answer
    kTools,
    kToolChoice,
    kParallelCalls,
    kStrictTool,  // `index` is the tool's number
    kReasoning,
  };

  Kind kind = Kind::kInvalid;
  Field field = Field::kPrompt;
  std::string message;
  size_t index = 0;

  bool is_sentence() const { return kind >= Kind::kTemplate; }
};

template <class T>
using GenerationResult = tl::expected<T, GenerationError>;
using GenerationStatus = GenerationResult<void>;

// `return Refuse(Field::kPrompt, "is empty");`
template <class... Args>
tl::unexpected<GenerationError> Refuse(GenerationError::Field field, fmt::format_string<Args...> format,
                                       Args&&... args) {
  return tl::make_unexpected(GenerationError{.kind = GenerationError::Kind::kInvalid,
                                             .field = field,
                                             .message = fmt::format(format, std::forward<Args>(args)...)});
}

// For programs without field names of their own: kInvalidArgument or kUnsupported, with a description of the field.
Error ToError(const GenerationError& error);

}  // namespace inferflux::serving
