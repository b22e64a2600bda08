// Finds the form in which a model reasons, from its chat template.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "text/chat_template.h"
#include "text/reasoning/reasoning_form.h"

namespace inferflux::text {

struct TemplateReasoning {
  const ReasoningForm* form = nullptr;
  std::string_view key = "reasoning_content";  // the member of a message that the template reads reasoning from
};

// Renders conversations with reasoning, and finds the form whose markers the template puts around it; then looks for a
// form that the template opens or closes before an answer, or that it cuts out of past answers. None if no form is
// known, or if the model does not reason.
std::optional<TemplateReasoning> FindTemplateReasoning(const ChatTemplate& chat_template);

// Sets the variables by which templates switch reasoning on or off. Templates ignore those that they do not know.
void SetReasoning(bool enabled, boost::json::object& variables);

// Moves the reasoning of past answers, in `reasoning_content`, to the member that the template reads.
void AdaptPastReasoning(const TemplateReasoning& reasoning, boost::json::array& messages);

// Whether a rendered prompt ends inside the reasoning, so that the answer begins with it.
bool BeginsInside(const ReasoningForm& form, std::span<const TextSpan> prompt);

}  // namespace inferflux::text
