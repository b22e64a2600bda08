// A language model that an engine in this process has loaded: its load is known, so settings of calls are checked
// against it.
#pragma once

#include <inferflux/load_options.h>

#include "dspy/lm/lm.h"

namespace inferflux::dspy {

class LoadedModel : public LM {
 public:
  // As it was loaded, with the context that the engine has.
  virtual const embedded::LoadOptions& load_options() const = 0;
};

}  // namespace inferflux::dspy
