// Applies what a model's recipe says to a request that says nothing about it.
#pragma once

#include "serving/generation/chat.h"
#include "serving/generation/generation_error.h"
#include "serving/generation/generation_spec.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

// The sampling parameters that the request did not set, `stop` and `max_tokens`. kInvalid names a value of the recipe
// that is out of range.
GenerationStatus ApplyRecipe(const ServedModel& model, GenerationSpec& spec);

// The system message and the first messages.
void ApplyRecipe(const ServedModel& model, Chat& chat);

}  // namespace inferflux::serving
