// Why a request cannot become a generation of a model. It names the field by what it means; an API puts its own name
// of it in front.
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
    // 7"
    kInvalid,
    kUnsupported,  // the model cannot do it
    // `message` is a whole sentence:
    kTemplate,        // the model's chat template refuses the messages
    kNoChatTemplate,  // the model has none
    kContextLength,   // the prompt leaves no room for an answer
  };
  enum class Field : uint8_t {
    kModel,
    kPrompt,       // or the messages of a chat
    kGrammar,      // what the text is held to
    kSpeculation,  // its kind
    kLogitBias,
    kTools,
    kToolChoice,
    kParallelCalls,
    kStrictTool,  // of tool number `index`
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

// For programs without fields of their own: kInvalidArgument or kUnsupported, with plain words for the field.
Error ToError(const GenerationError& error);

}  // namespace inferflux::serving
