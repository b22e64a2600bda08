// Programs in the style of DSPy on a model that runs in this process (docs/dspy.md). These headers need Boost.JSON and
// fmt: link InferFlux::dspy.
//
//   auto model = inferflux::embedded::LanguageModel(*engine);
//   inferflux::dspy::Configure(model);
//   inferflux::dspy::Predict program(*inferflux::dspy::Signature::Parse("question -> answer: int"));
//   auto prediction = program.Call({{"question", "What is 2+2?"}});
#pragma once

#include "inferflux/dspy/adapters/chat_adapter.h"
#include "inferflux/dspy/adapters/llama_cpp_adapter.h"
#include "inferflux/dspy/error.h"
#include "inferflux/dspy/lm/loaded_model.h"
#include "inferflux/dspy/optimize/bootstrap_few_shot.h"
#include "inferflux/dspy/optimize/evaluate.h"
#include "inferflux/dspy/optimize/labeled_few_shot.h"
#include "inferflux/dspy/programs/chat.h"
#include "inferflux/dspy/programs/predict.h"
#include "inferflux/dspy/programs/react.h"
#include "inferflux/dspy/programs/settings.h"
#include "inferflux/dspy/signature/signature.h"
#include "inferflux/embedded/language_model.h"
#include "inferflux/engine.h"
